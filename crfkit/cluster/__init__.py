"""Work on several processes or machines: who does what, and what happens when one of them dies."""
