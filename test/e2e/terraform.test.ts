// A real Terraform that keeps its state in a virtual cluster: in a Secret, locked by a Lease, by the backend that is built into it.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";
import { kubectlWith, type Outcome, succeed, tool } from "./testing/postern-process.ts";

const DEMO = "/apis/management.postern/v1/namespaces/p-default/virtualclusterinstances/demo/kubeconfig";
const SECRETS = ["get", "secrets", "-l", "tfstate=true", "-o", "name"];
const LOCK = "lock-tfstate-default-state";

const { code } = await tool("terraform", ["version"]);
const missing = code === 0 ? "" : " (skipped: terraform is not installed)";

describe.skipIf(code !== 0)(`Terraform with the backend kubernetes${missing}`, () => {
  let server: OwnServer;
  let inside: (args: readonly string[], input?: string) => Promise<Outcome>;

  const terraform = (...args: readonly string[]): Promise<Outcome> =>
    tool("env", [
      "CHECKPOINT_DISABLE=1",
      "TF_IN_AUTOMATION=1",
      "terraform",
      `-chdir=${join(server.directory, "tf")}`,
      ...args,
    ]);
  const write = (input: string): Promise<void> =>
    writeFile(
      join(server.directory, "tf/main.tf"),
      `terraform {
  backend "kubernetes" {
    secret_suffix = "state"
    namespace     = "default"
    config_path   = "${join(server.directory, "demo.kubeconfig")}"
  }
}
resource "terraform_data" "one" { input = "${input}" }
output "value" { value = terraform_data.one.output }
`,
    );

  beforeAll(async () => {
    server = await startOwnServer();
    const admin = kubectlWith(server.adminKubeconfig, join(server.directory, "cache"));
    const { status } = JSON.parse(await succeed(admin(["create", "--raw", DEMO, "-f", "-"], "{}")));
    const config = join(server.directory, "demo.kubeconfig");
    await writeFile(config, status.kubeConfig, { mode: 0o600 });
    inside = kubectlWith(config, join(server.directory, "cache"));
    await mkdir(join(server.directory, "tf"));
  });

  afterAll(() => server?.[Symbol.asyncDispose]());

  it("keeps, changes, locks and gives up its state", async () => {
    await write("a");
    expect(await succeed(terraform("init", "-no-color", "-input=false"))).toContain(
      'Successfully configured the backend "kubernetes"',
    );
    expect(await succeed(terraform("apply", "-auto-approve", "-no-color", "-input=false"))).toContain("1 added");
    expect(await succeed(inside(SECRETS))).toBe("secret/tfstate-default-state\n");
    expect(await succeed(terraform("plan", "-no-color", "-detailed-exitcode"))).toContain("No changes.");
    await write("b");
    expect(await succeed(terraform("apply", "-auto-approve", "-no-color"))).toContain("1 changed");
    expect(await succeed(terraform("output", "-raw", "value"))).toBe("b");

    const held = '{"spec":{"holderIdentity":"somebody"}}';
    await succeed(inside(["patch", "lease", LOCK, "--type=merge", "-p", held]));
    const locked = await terraform("apply", "-auto-approve", "-no-color");
    expect(locked).toMatchObject({ code: 1, stderr: expect.stringContaining("Error acquiring the state lock") });
    await succeed(inside(["patch", "lease", LOCK, "--type=merge", "-p", '{"spec":{"holderIdentity":null}}']));

    await succeed(terraform("workspace", "new", "other", "-no-color"));
    expect(await succeed(terraform("workspace", "list"))).toMatch(/ default\n\* other\n/);
    await succeed(terraform("workspace", "select", "default"));
    await succeed(terraform("workspace", "delete", "other", "-no-color"));
    expect(await succeed(terraform("destroy", "-auto-approve", "-no-color"))).toContain("1 destroyed");
    expect(await succeed(inside(SECRETS))).toBe("secret/tfstate-default-state\n");
  });
});
