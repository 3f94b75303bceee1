// A cluster that is connected in the console: the command, run by kubectl in that cluster, and the agent that it installs.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { closeConsole, type ServedConsole, serveConsole } from "./testing/console.ts";
import { kubernetesTools } from "./testing/kubernetes-tools.ts";
import { succeed, tool } from "./testing/postern-process.ts";
import { type AgentProcess, startAgent } from "./testing/tunnelled-cluster.ts";

let served: ServedConsole;
let agent: AgentProcess | undefined;
beforeAll(async () => {
  served = await serveConsole();
});
afterAll(async () => {
  await agent?.[Symbol.asyncDispose]();
  await closeConsole(served);
});

/** A kubeconfig for a virtual cluster that keeps workloads: the cluster that is connected. */
async function otherCluster(): Promise<string> {
  const { platform } = served;
  await platform.create("namespaces/p-default/virtualclusterinstances", {
    metadata: { name: "edge" },
    spec: { template: { workloads: "stored" } },
  });
  const path = "namespaces/p-default/virtualclusterinstances/edge";
  await platform.until({ path }, ({ body }) => body?.status?.phase === "Ready");
  const { status } = await platform.create(`${path}/kubeconfig`, { spec: { clientCert: true } });
  const file = join(platform.directory, "edge.kubeconfig");
  await writeFile(file, status.kubeConfig, { mode: 0o600 });
  return file;
}

test("the command of the console installs an agent, and the page says when it is connected", async () => {
  const { platform } = served;
  const page = await served.openAs(platform.adminKey, "/new/host-cluster");
  await page.getByLabel("Name", { exact: true }).fill("eu-west");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("not connected", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Connect agent" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Make command" }).click();
  const command = await dialog.locator("pre").first().textContent();
  const [, url = ""] =
    /^kubectl apply -f (https:\/\/\S+\/join\/\S+)$/.exec(command ?? "") ??
    expect.unreachable(`the command: ${command}`);
  await dialog.getByText("expires").waitFor();

  const kubeconfig = await otherCluster();
  const { kubectl } = await kubernetesTools("1.35");
  const applied = await succeed(
    tool("env", [`SSL_CERT_FILE=${platform.server.caPath}`, kubectl, "--kubeconfig", kubeconfig, "apply", "-f", url]),
  );
  expect(applied).toContain("deployment.apps/postern-agent created");
  // No node runs the pods of a virtual cluster: the agent runs here, with what the Secret of the manifests has.
  const stateFile = join(platform.directory, "edge-agent.key");
  const state = {
    server: platform.server.url,
    "ca.crt": await readFile(platform.server.caPath, "utf8"),
    join: url.slice(url.lastIndexOf("/") + 1),
  };
  await writeFile(stateFile, JSON.stringify(state), { mode: 0o600 });
  agent = startAgent({ stateFile, kubeconfig });

  await dialog.getByText("The agent is connected.").waitFor();
  // It cannot be read again.
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.getByText(/version \S+, [12] connections, round trip \d+ ms/).waitFor();
  await page.getByRole("button", { name: "Connect agent" }).click();
  await dialog.getByRole("button", { name: "Make command" }).waitFor();
  expect(await page.content()).not.toContain(url);
});
