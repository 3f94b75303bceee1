import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { expect, it, onTestFinished } from "vitest";
import { PLANTED } from "./keep-files.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

type Outcome = { readonly code: number; readonly text: string };

function runPlanted(handles: string): Promise<Outcome> {
  const args = ["node_modules/vitest/vitest.mjs", "run", "--config", "tools/secret-scan/testing/planted.config.ts"];
  const env = { ...process.env, PLANTED_HANDLES: handles, NO_COLOR: "1", TMPDIR: join(handles, "..") };
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: ROOT, env, maxBuffer: 16 << 20 }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), text: stdout + stderr }),
    );
  });
}

it("finds a leak of every kind in a whole test run, names the place, and fails the run", async () => {
  const folder = mkdtempSync(join(tmpdir(), PLANTED));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const handles = join(folder, "handles");
  const { code, text } = await runPlanted(handles);
  expect(text).toMatch(/Tests {2}\d+ passed/);
  expect(code, text).toBe(1);
  const leaked = new Map(
    readFileSync(handles, "utf8")
      .trim()
      .split("\n")
      .map((line): [string, string] => [line.split(" ")[0] ?? "", line.split(" ")[1] ?? ""]),
  );
  const placesOf = (kind: string): readonly string[] =>
    text
      .split("\n")
      .filter((line) => line.includes(`access key ${leaked.get(kind)} `))
      .map((line) => line.replace(/.* in /, ""));
  expect(placesOf("log")).toEqual([expect.stringMatching(/^node -e .* \(errors\)$/)]);
  expect(placesOf("audit")).toEqual([expect.stringMatching(/^the file of-a-harness-\w+\/audit\.log$/)]);
  expect(placesOf("metric")).toEqual(["GET /metrics 200"]);
  expect(placesOf("error")).toEqual(["GET /api 400"]);
  expect(placesOf("header")).toEqual(["GET /api 200 (headers)"]);
  expect(placesOf("packed")).toEqual(["GET /apis 200"]);
  expect(placesOf("http2")).toEqual(["GET /over-http2 200"]);
  expect(placesOf("bytes")).toEqual([expect.stringMatching(/^bytes from 127\.0\.0\.1:\d+$/)]);
  expect(placesOf("upgrade")).toEqual(["GET /upgrade 101 (upgrade)"]);
  expect(placesOf("database")).toContainEqual(expect.stringMatching(/^the file of-a-harness-\w+\/postern\.db/));
  expect(placesOf("backup")).toEqual([expect.stringMatching(/\/backups\/monday\.postern-backup$/)]);
  expect(placesOf("kube-config")).toEqual([expect.stringMatching(/\/admin\.kubeconfig$/)]);
  expect(placesOf("kube-config-own")).toEqual([]);
  if (whyNoEtcd() === undefined) {
    expect(placesOf("etcd")).toContainEqual(expect.stringMatching(/^the file postern-etcd-\w+\/m0\/member\/wal\//));
  }
});
