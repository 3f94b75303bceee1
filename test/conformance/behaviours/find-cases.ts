// Finds the cases of behaviours in the sources of tests: their titles end with the id in parentheses.

import { readFileSync } from "node:fs";
import { typeScriptFiles } from "../../../tools/source-files.ts";

/** A case, by the path of its file below the repository root. */
export type FoundCase = { readonly id: string; readonly file: string };

const CASE_NAME = /\(([A-Z]-\d\d)\)["'`]/g;

/** Paths are relative to the working directory, which is the root of the repository. */
export const findCases = (): readonly FoundCase[] =>
  typeScriptFiles()
    .filter((file) => file.endsWith(".test.ts"))
    .flatMap((file) => [...readFileSync(file, "utf8").matchAll(CASE_NAME)].map(([, id = ""]) => ({ id, file })));
