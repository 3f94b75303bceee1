// Refuses text that does not belong into the repository: paths of one machine, package hosts in the lockfile, banned names.

import { readSource, reportGate, repositoryFiles } from "./source-files.ts";

const RULES: readonly { readonly files: RegExp; readonly pattern: RegExp; readonly why: string }[] = [
  { files: /./, pattern: /(^|[\s"'`(=])\/(work|home|root|Users)\/[a-z]/m, why: "a path of one machine" },
  { files: /package-lock\.json$/, pattern: /"resolved": "http/, why: "a download address" },
  {
    files: /^packages\/[^/]+\/src\/.*\.ts$/,
    pattern: /\bMath\.random\b/,
    why: "randomness comes from the Random port",
  },
  {
    // Phrases in user-visible texts that hide what happens to a field, key or client.
    files: /^packages\/[^/]+\/src\/(?!.*(\.test\.ts$|\/testing\/)).*\.ts$/,
    pattern: /^(?! *(\/\/|\/?\*)).*["'`].*\b(has no end|opens? nothing|is told|kube configs?)\b/im,
    why: "no plain English: say 'never expires', 'is refused', 'learns', 'kubeconfig'",
  },
  {
    files: /^(packages|test|tools|benchmarks|examples)\/.*\.tsx?$/,
    pattern: /(^|\s)(\/\/|\/\*\*) (What|Who|Whose|Whoever|Nobody|Somebody)\b/m,
    why: "a comment that begins with a question word: the thing is the subject of a sentence",
  },
];

const BANNED_NAMES = /(^|\/)(utils?|helpers?|common|misc|manager)(\.[a-z]+)?(\/|$)/;
const TEXT = /\.(ts|tsx|js|json|md|yaml|yml|sh|css|html)$|(^|\/)(LICENSE|run)$/;

const files = repositoryFiles().filter((path) => TEXT.test(path) && path !== "tools/check-text.ts");
const faults: string[] = [];
for (const path of files) {
  if (BANNED_NAMES.test(path)) faults.push(`${path}: a name that says nothing`);
  const text = readSource(path);
  for (const { files: where, pattern, why } of RULES) {
    if (where.test(path) && pattern.test(text)) faults.push(`${path}: ${why}`);
  }
}
reportGate("repository text", files.length, faults);
