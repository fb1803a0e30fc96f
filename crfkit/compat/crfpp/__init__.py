"""CRF++'s command lines, with crfkit behind them: `crfkit-crf-learn` and `crfkit-crf-test`."""
