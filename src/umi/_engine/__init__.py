"""One open memory: its components, and the operations behind the methods of `umi.Memory` and `umi.Router`."""
