// Writes docs/reference/commands.md from the command line. Run: npm run generate -- command

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { renderCommandReference } from "../packages/cli/src/help/command-reference.ts";
import { createProgram } from "../packages/cli/src/program.ts";
import { silentContext } from "./silent-context.ts";

const path = fileURLToPath(new URL("../docs/reference/commands.md", import.meta.url));
writeFileSync(path, renderCommandReference(await createProgram(silentContext)));
console.log(`wrote ${path}`);
