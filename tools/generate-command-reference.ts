// Writes docs/reference/commands.md from the command line. Run: npm run generate -- command

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { renderCommandReference } from "../packages/cli/src/command-reference.ts";
import { createProgram } from "../packages/cli/src/program.ts";

const path = fileURLToPath(new URL("../docs/reference/commands.md", import.meta.url));
const silent = { write: () => {} };
const context = {
  stdout: silent,
  stderr: silent,
  readSecret: async () => undefined,
  readAnswer: async () => undefined,
  environment: {},
  workingDirectory: "/",
  program: { command: "postern", args: [] },
};
writeFileSync(path, renderCommandReference(await createProgram(context)));
console.log(`wrote ${path}`);
