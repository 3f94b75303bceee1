// Writes docs/reference/library.md from the public surface of the library. Run: npm run generate -- library

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { libraryExports, renderLibraryReference } from "./reference/library-reference.ts";

const path = fileURLToPath(new URL("../docs/reference/library.md", import.meta.url));
writeFileSync(path, renderLibraryReference(libraryExports()));
console.log(`wrote ${path}`);
