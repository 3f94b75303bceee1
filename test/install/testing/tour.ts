// The tour of the README in three lines, and that of the guide on plain HTTP, command by command as they stand there, against a server that was installed in
// some way.

import { readFileSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { REPOSITORY, tool } from "../../e2e/testing/postern-process.ts";

export type TourOptions = {
  /** The server as clients reach it. */
  readonly url: string;
  /** Where the reader is: it has `data/admin.kubeconfig` and `data/ca.crt`, and gets the files of the tour. */
  readonly directory: string;
  /** The same folder, as commands see it. */
  readonly at?: string;
  /** The command that the reader types for `postern`. */
  readonly command: readonly string[];
  /** Prefix of command lines that run where the server is reached, such as `ip netns exec n1`. */
  readonly run?: readonly string[];
  /** Whether `postern` runs in a container, and so cannot write the reader's files. */
  readonly isInContainer?: boolean;
};

/** The address that the README shows. */
const ADDRESS = "127.0.0.1:8443";

const read = (path: string): string => readFileSync(join(REPOSITORY, path), "utf8");
const shellBlocks = (text: string): string =>
  [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block).join("\n");

/** The line of the README, and what the guide says instead of it for containers. */
const MERGE = "postern kubeconfig demo --merge && kubectl get namespaces";
const IN_CONTAINER =
  "postern kubeconfig demo > data/demo.kubeconfig && kubectl --kubeconfig data/demo.kubeconfig get namespaces";

/** Without its first line: the server runs. */
function readTour(isInContainer: boolean): string {
  const [, tour = ""] = read("README.md").split(/^## The tour in three lines$/m);
  const [section = ""] = tour.split(/^## /m);
  const [serve, ...lines] = shellBlocks(section).trim().split("\n");
  expect([serve, lines.length, lines.at(-1)]).toEqual(["postern serve", 2, MERGE]);
  expect(read("docs/operations/installing.md")).toContain(
    `docker exec ${IN_CONTAINER}`.replace("exec ", "exec postern "),
  );
  const script = lines.join("\n");
  return `${isInContainer ? script.replace(MERGE, IN_CONTAINER) : script}\n${shellBlocks(read("docs/guides/plain-http.md"))}`;
}

/** Commands whose comment announces an error have to fail with it; all others have to succeed. */
const withRefusals = (script: string): string =>
  script.replaceAll(
    /^(.*?) +# error: (.*)$/gm,
    (_, command: string, message: string) => `refused '${message}' ${command}`,
  );

const PREAMBLE = `
refused() {
  local message="$1" printed; shift
  if printed=$("$@" 2>&1); then echo "not refused: $*" >&2; exit 1; fi
  case "$printed" in *"$message"*) ;; *) echo "$* was refused with: $printed" >&2; exit 1 ;; esac
}
`;

/** A browser gets the page and the script that it names, and the documentation. */
async function expectPages(url: string, ca: string, run: readonly string[]): Promise<void> {
  const fetched = async (path: string): Promise<string> => {
    const [program = "curl", ...args] = [...run, "curl", "--silent", "--show-error", "--fail", "--compressed"];
    const { code, stdout, stderr } = await tool(program, [
      ...args,
      "--cacert",
      ca,
      "-H",
      "Accept: text/html",
      url + path,
    ]);
    expect(code, stderr).toBe(0);
    return stdout;
  };
  const page = await fetched("/");
  expect(page).toContain("<title>Postern</title>");
  // The script of the page is short, and imports the modules that the page preloads.
  const modules = [...page.matchAll(/(?:src|href)="(\/console\/[^"]+\.js)"/g)].map(([, path = ""]) => path);
  const texts = await Promise.all(modules.map(fetched));
  expect(texts.join("").length).toBeGreaterThan(100_000);
  expect(await fetched("/docs/guides/access-keys")).toContain('<h1 id="access-keys">Access keys</h1>');
  expect(await fetched("/docs/style.css")).toContain("--ground:");
}

/** Fails at the first command that does not do what the README says. */
export async function takeTour(options: TourOptions): Promise<void> {
  const { url, directory, at = directory, command, run = [], isInContainer = false } = options;
  const programs = join(directory, "programs");
  await mkdir(programs);
  const quoted = command.map((word) => `'${word}'`).join(" ");
  await writeFile(join(programs, "postern"), `#!/bin/sh\nexec ${quoted} "$@"\n`);
  await chmod(join(programs, "postern"), 0o755);
  const script = withRefusals(readTour(isInContainer).replaceAll(ADDRESS, new URL(url).host));
  const file = join(directory, "tour.sh");
  await writeFile(file, `cd '${at}'\nexport HOME=$PWD PATH=$PWD/programs:$PATH\n${PREAMBLE}${script}`);
  const [program = "bash", ...args] = [...run, "bash", "-euo", "pipefail", join(at, "tour.sh")];
  const { code, stdout, stderr } = await tool(program, args);
  expect(code, `${stderr}${stdout}`).toBe(0);
  await expectPages(url, join(at, "data/ca.crt"), run);
  // Output that the reader sees in the virtual cluster.
  expect(stdout).toMatch(/^default +Active /m);
  expect(stdout).toContain("configmap/hello created");
  expect(stdout).toMatch(/^pst_\w+$/m);
  expect(stdout.match(/^ {2}a: b$/gm)).toHaveLength(1);
  expect(stdout).toContain('ownedaccesskey.management.postern "web" deleted');
}
