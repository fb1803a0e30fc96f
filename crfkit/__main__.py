from crfkit.programs import crfkit

crfkit()
