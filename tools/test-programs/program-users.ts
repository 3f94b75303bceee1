// Finds the test files that run a program: those that name it, or that import or start shared code of tests that does.

import { importsOf, isTest, targetOf } from "../imports.ts";
import { readSource, repositoryFiles } from "../source-files.ts";
import type { TestProgram } from "./programs.ts";

/** Shared code that names programs which only some of its importers run: importers are judged by what they call. */
const DEFINING: ReadonlySet<string> = new Set([
  "packages/stores/src/etcd/testing/start-etcd.ts",
  "test/crash/testing/fake-time.ts",
  "test/crash/testing/network-namespaces.ts",
  "test/crash/testing/traced-process.ts",
  "test/docs/testing/run-page.ts",
  "test/e2e/testing/browser.ts",
  "test/e2e/testing/kubectl-clients.ts",
  "test/e2e/testing/kubernetes-tools.ts",
  "test/e2e/testing/postern-process.ts",
  "test/e2e/testing/python.ts",
  "test/e2e/testing/self-signed.ts",
  // Starts etcd only for a run on etcd, and where it is installed.
  "test/e2e/testing/shared-etcd.ts",
  // Name programs, and run none.
  "tools/test-programs/prepare-programs.test.ts",
  "tools/test-programs/program-users.test.ts",
]);

/** Shared code that a test starts in a process of its own. */
const STARTED = /"((?:[\w.-]+\/)*testing\/[\w.-]+\.ts)"/g;

const PACKAGE = /^@postern\/([^/]+)\/(.+)$/;

function filesOf(path: string): readonly string[] {
  const source = readSource(path);
  const started = [...source.matchAll(STARTED)].map(([, file = ""]) =>
    file.startsWith(".") ? targetOf(path, file) : file,
  );
  const imported = importsOf(source).flatMap((imported) => {
    const [, name, file] = PACKAGE.exec(imported) ?? [];
    if (name !== undefined) return [`packages/${name}/src/${file}.ts`];
    return imported.startsWith(".") ? [targetOf(path, imported)] : [];
  });
  return [...started, ...imported];
}

export type ProgramUsers = (program: TestProgram) => readonly string[];

/** Reads all tests of the repository once. Paths are relative to its root. */
export function createProgramUsers(): ProgramUsers {
  const files = repositoryFiles().filter((path) => path.endsWith(".ts") && isTest(path));
  const known = new Set(files);
  const sources = new Map(files.map((path) => [path, readSource(path)]));
  const shared = new Map(files.map((path) => [path, filesOf(path).filter((each) => known.has(each))]));
  return ({ use }) => {
    const verdicts = new Map<string, boolean>();
    const runs = (path: string): boolean => {
      const verdict = verdicts.get(path);
      if (verdict !== undefined) return verdict;
      verdicts.set(path, false);
      const found =
        !DEFINING.has(path) &&
        (use.test(sources.get(path) ?? "") || (shared.get(path) ?? []).some((each) => runs(each)));
      verdicts.set(path, found);
      return found;
    };
    return files.filter((path) => path.endsWith(".test.ts") && runs(path));
  };
}
