// Programs of examples/embed, and kubeconfigs for them.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect } from "vitest";
import { REPOSITORY } from "./postern-process.ts";

export type EmbeddedServer = {
  readonly url: string;
  /** Fails the test if the program does not end by itself, with exit code 0. */
  stop(): Promise<void>;
};

/** The arguments with which this Node runs an example. */
export const exampleCommand = (script: string): readonly string[] => [
  "--import",
  "tsx",
  "-C",
  "@postern/source",
  script,
];

/** Starts the program on a folder that has what it reads. Rejects if it ends before it has printed its URL. */
export async function startExample(script: string, folder: string): Promise<EmbeddedServer> {
  const server = spawn(process.execPath, [...exampleCommand(script), folder], {
    cwd: REPOSITORY,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(server, "exit");
  const lines = createInterface(server.stdout);
  const url = await Promise.race([
    once(lines, "line").then(([line]) => String(line)),
    ended.then(([code]) => Promise.reject(new Error(`${script} ended with ${code}`))),
  ]);
  return {
    url,
    async stop() {
      if (server.exitCode !== null) return;
      server.kill("SIGTERM");
      expect(await ended).toEqual([0, null]);
    },
  };
}

/** Writes `<user>.kubeconfig` into the folder, beside the certificate of the server in `tls.crt`. */
export async function writeKubeconfig(folder: string, user: string, url: string, token: string): Promise<string> {
  const cluster = { server: url, "certificate-authority": join(folder, "tls.crt") };
  const path = join(folder, `${user}.kubeconfig`);
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "bakery", cluster }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: "bakery", context: { cluster: "bakery", user } }],
    "current-context": "bakery",
  };
  await writeFile(path, JSON.stringify(kubeconfig));
  return path;
}
