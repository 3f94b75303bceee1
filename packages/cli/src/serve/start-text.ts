// The text that `postern serve` prints when the server is ready: its address, how to sign in, and what to try next.

import { existsSync } from "node:fs";
import { delimiter, isAbsolute, join, relative } from "node:path";
import type { CommandContext } from "../command-context.ts";
import { isExecutable } from "../is-executable.ts";
import { shellQuote } from "../output/shell-quote.ts";

export type StartTextDeps = Pick<CommandContext, "environment" | "workingDirectory" | "program"> & {
  readonly server: { readonly url: string; readonly adminKubeconfigPath: string; readonly caPath: string };
  /** Undefined: none is shown. */
  readonly link: string | undefined;
  readonly hasConsole: boolean;
  /** Whether commands in this directory use the server without a flag. */
  readonly isFound: boolean;
};

/** The suggested commands can be pasted into another terminal in the same directory. */
export function startText(deps: StartTextDeps): string {
  const { server, link, hasConsole, isFound, workingDirectory } = deps;
  const { url, adminKubeconfigPath, caPath } = server;
  const ready = `Postern is ready at ${url}\n`;
  // Only the first server on a store creates the file; without the file there is nothing to paste.
  if (!existsSync(adminKubeconfigPath)) return ready;
  const quoted = (path: string): string => shellQuote(shortPath(path, workingDirectory));
  const postern = programName(deps);
  const administrator = isFound ? "" : ` --kubeconfig ${quoted(adminKubeconfigPath)}`;
  const page = hasConsole ? `  Console      ` : `  Sign in      `;
  const signIn =
    link === undefined
      ? [`${page}${url}${hasConsole ? "" : "/login"} (sign in with an access key)`]
      : [
          `${page}${link}`,
          `               signs you in as the administrator, once, in the next 10 minutes`,
          ...(existsSync(caPath)
            ? [`               the browser warns about the certificate until it trusts ${quoted(caPath)}`]
            : []),
        ];
  return [
    ready,
    ...signIn,
    `  Access key   ${postern} key create laptop --ttl 24h${administrator}`,
    `  Kubeconfig   ${postern} kubeconfig demo --merge${administrator} && kubectl get namespaces`,
    `  Help         ${postern} --help, and docs/README.md of the source`,
    "",
  ].join("\n");
}

/** As users type it: by name if it is on the PATH of a shell, by npx if a package manager runs it, otherwise by its path. */
function programName({
  environment,
  workingDirectory,
  program: { command, args },
}: Pick<StartTextDeps, "environment" | "workingDirectory" | "program">): string {
  // npm and npx add their folders for the command that they run.
  const folders = (environment["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && !folder.split(/[\\/]/).includes("node_modules"));
  if (folders.some((folder) => isExecutable(join(folder, "postern")))) return "postern";
  const isScript = args.length > 0 || /\.[cm]?js$/.test(command) || command.endsWith("node_modules/.bin/postern");
  if (isScript) return "npx postern";
  const path = shellQuote(shortPath(command, workingDirectory));
  return path.includes("/") ? path : `./${path}`;
}

/** Relative if inside the working directory, as people would type it. */
function shortPath(path: string, workingDirectory: string): string {
  const short = relative(workingDirectory, path);
  return short === "" || short.startsWith("..") || isAbsolute(short) ? path : short;
}
