from crfkit.cli import main

main()
