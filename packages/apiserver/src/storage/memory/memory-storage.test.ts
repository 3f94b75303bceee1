import { describeStorage } from "../testing/storage-suite.ts";
import { createMemoryStorage } from "./memory-storage.ts";

describeStorage("memory storage", async () => ({ storage: createMemoryStorage() }));
