// The real helm with a chart of one ConfigMap: it is installed, upgraded and uninstalled by a kubeconfig.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { kubernetesTools } from "./kubernetes-tools.ts";
import { succeed, tool } from "./postern-process.ts";

/** `made` resolves with the data of the ConfigMap `of-helm` in the namespace `default`, as the cluster has it; undefined where it has none. */
export async function runSmallChart(
  directory: string,
  kubeconfig: string,
  made: () => Promise<object | undefined>,
): Promise<void> {
  const { helm } = await kubernetesTools("1.35");
  const chart = join(directory, "chart");
  await mkdir(join(chart, "templates"), { recursive: true });
  await writeFile(join(chart, "Chart.yaml"), "apiVersion: v2\nname: small\nversion: 1.0.0\n");
  await writeFile(join(chart, "values.yaml"), "size: small\n");
  const map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-helm}\ndata: {size: {{ .Values.size }}}\n";
  await writeFile(join(chart, "templates", "map.yaml"), map);
  const homes = ["CACHE", "CONFIG", "DATA"].map((home) => `HELM_${home}_HOME=${join(directory, "helm", home)}`);
  const run = (...args: string[]) => succeed(tool("env", [...homes, helm, "--kubeconfig", kubeconfig, ...args]));
  expect(await run("install", "small", chart)).toContain("STATUS: deployed");
  expect(await made()).toEqual({ size: "small" });
  expect(await run("upgrade", "small", chart, "--set=size=large")).toContain("STATUS: deployed");
  expect(await made()).toEqual({ size: "large" });
  await run("uninstall", "small", "--wait");
  expect(await made()).toBeUndefined();
}
