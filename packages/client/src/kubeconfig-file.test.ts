import { spawnSync } from "node:child_process";
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { parseKubeconfig } from "./kubeconfig.ts";
import { changeKubeconfigFile, putKubeconfigEntries, removeKubeconfigEntry } from "./kubeconfig-file.ts";

const directory = mkdtempSync(join(tmpdir(), "postern-kube-config-file-"));
afterAll(() => rmSync(directory, { recursive: true }));

const entry = (name: string, server = `https://${name}.example.com`) => ({
  name,
  cluster: { server },
  user: { exec: { command: "postern" } },
});
const kubectl = (file: string, ...args: string[]) =>
  spawnSync("kubectl", ["config", "--kubeconfig", file, ...args], { encoding: "utf8" });

describe("kubeconfig files", () => {
  it("keep comments and everything else when entries are put in, replaced and taken out", () => {
    const before = [
      "# mine",
      "apiVersion: v1",
      "kind: Config",
      "clusters:",
      "- name: old # keep",
      "  cluster: {server: https://old}",
      "contexts: []",
      "users: null",
      "current-context: old",
      "preferences: {colors: true}",
      "",
    ].join("\n");
    const put = putKubeconfigEntries(before, "file", [entry("a"), entry("b")], "a");
    expect(put).toContain("# mine");
    expect(put).toContain("# keep");
    expect(put).toContain("colors: true");
    const read = parseKubeconfig(put, "file");
    expect([...read.clusters.keys()]).toEqual(["old", "a", "b"]);
    expect(read.currentContext).toBe("a");
    const again = putKubeconfigEntries(put, "file", [entry("a", "https://new")]);
    expect(parseKubeconfig(again, "file").clusters.get("a")?.server).toBe("https://new");
    const removed = parseKubeconfig(removeKubeconfigEntry(again, "file", "a"), "file");
    expect([...removed.contexts.keys()]).toEqual(["b"]);
    expect(removed.currentContext).toBe("");
  });

  it.each(["[]", "a: [", "clusters: 5"])("refuse what is no kubeconfig: %s", (text) => {
    expect(() => putKubeconfigEntries(text, "file", [entry("a")])).toThrow(/^file/);
  });

  it("are made for their owner alone, keep their mode and links, and are read by kubectl", async () => {
    const file = join(directory, "deep", "config");
    await changeKubeconfigFile(file, (text) => putKubeconfigEntries(text, file, [entry("a")], "a"));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(kubectl(file, "get-contexts", "-o", "name").stdout).toBe("a\n");
    const link = join(directory, "link");
    symlinkSync(file, link);
    await changeKubeconfigFile(link, (text) => putKubeconfigEntries(text, link, [entry("b")]));
    expect(kubectl(file, "get-contexts", "-o", "name").stdout).toBe("a\nb\n");
    expect(kubectl(link, "current-context").stdout).toBe("a\n");
  });

  it("are as before after a change that fails, and lose nothing to changes side by side", async () => {
    const file = join(directory, "many");
    const names = Array.from({ length: 20 }, (_, i) => `c${i}`);
    await Promise.all(
      names.map((name) => changeKubeconfigFile(file, (text) => putKubeconfigEntries(text, file, [entry(name)]))),
    );
    const before = readFileSync(file, "utf8");
    expect([...parseKubeconfig(before, file).contexts.keys()].toSorted()).toEqual(names.toSorted());
    const failing = changeKubeconfigFile(file, () => {
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(readFileSync(file, "utf8")).toBe(before);
    expect(existsSync(`${file}.lock`)).toBe(false);
  });

  it("wait for kubectl's lock, and name it when it stays", async () => {
    const file = join(directory, "locked");
    writeFileSync(`${file}.lock`, "");
    await expect(changeKubeconfigFile(file, () => "")).rejects.toThrow(`${file}.lock exists`);
  }, 20_000);

  it("are not written for another user, but by root, and stay the files of their owner", async () => {
    const file = join(directory, "foreign");
    const put = () => changeKubeconfigFile(file, (text) => putKubeconfigEntries(text, file, [entry("a")]));
    writeFileSync(file, "");
    const uid = vi.spyOn(process, "getuid").mockReturnValue(statSync(file).uid + 1);
    await expect(put()).rejects.toThrow(`${file} belongs to another user: name another file`);
    uid.mockRestore();
    expect(readFileSync(file, "utf8")).toBe("");
    if (process.getuid?.() !== 0) return;
    chownSync(file, 4242, 4343);
    await put();
    expect(statSync(file)).toMatchObject({ uid: 4242, gid: 4343 });
  });
});
