"""Control: layers of networks, sines and sensors, whose weights are parameters of the run."""
