// Runs scripts that use the Python client of Kubernetes, with Debian's Python: the package python3-kubernetes installs for this one.

import { spawn } from "node:child_process";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { REPOSITORY, tool } from "./postern-process.ts";

export const PYTHON = "/usr/bin/python3";
export const pythonScript = (name: string): string => join(REPOSITORY, "test/e2e/testing", name);

/** Undefined where the client is installed; where it is not, the reason. */
export const whyNoPythonClient = (): Promise<string | undefined> =>
  access(PYTHON)
    .then(() => tool(PYTHON, ["-c", "import kubernetes"]))
    .then(({ code }) => (code === 0 ? undefined : "python3-kubernetes is not installed"))
    .catch(() => `there is no ${PYTHON}`);

export type PythonInformer = Disposable & {
  /** Its standard error so far. */
  errors(): string;
  /** When it has seen the secret named `end`. Rejects where it failed. */
  result(): Promise<{
    /** Uid and resource version by name. */
    readonly known: { readonly [name: string]: string };
    readonly lists: number;
    readonly pages: number;
    readonly watches: number;
    readonly expired: number;
    readonly lost: number;
  }>;
};

export function startPythonInformer(kubeConfig: string): PythonInformer {
  const child = spawn(PYTHON, [pythonScript("python-informer.py"), kubeConfig], { stdio: ["ignore", "pipe", "pipe"] });
  const printed = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text) => (printed.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (printed.stderr += text));
  const exited = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once("close", (code, signal) => resolve(code ?? signal ?? 1));
  });
  return {
    [Symbol.dispose]: () => void child.kill("SIGKILL"),
    errors: () => printed.stderr,
    async result() {
      const code = await exited;
      if (code !== 0) throw new Error(`the informer ended with ${code}: ${printed.stderr}`);
      return JSON.parse(printed.stdout);
    },
  };
}
