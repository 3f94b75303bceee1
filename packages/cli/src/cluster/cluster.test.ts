// `postern cluster` against a whole server, with an agent of the test at the other end.

import { API_SERVER_AUTHORITY } from "@postern/api/cluster-tunnel";
import {
  answerWith,
  exchange,
  GOOD_ANSWER,
  openFakeTunnel,
} from "@postern/platform/features/cluster-tunnels/testing/fake-agent";
import { startTunnelPlatform } from "@postern/platform/features/cluster-tunnels/testing/tunnel-platform";
import type { RunningPlatform } from "@postern/platform/testing/running-platform";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../testing/run-command.ts";

let platform: RunningPlatform;
beforeAll(async () => {
  platform = await startTunnelPlatform(1);
});
afterAll(() => platform[Symbol.asyncDispose]());

const run = (...args: readonly string[]) =>
  runCommand(["cluster", ...args], { KUBECONFIG: platform.server.adminKubeconfigPath });
const valueIn = (text: string): string => /\/join\/([\w-]+)/.exec(text)?.[1] ?? "";
const WAIT = { timeout: 30_000, interval: 50 };

describe("postern cluster", () => {
  it("prints one line for kubectl, which connects the cluster once, and lists it", async () => {
    const joined = await run("join", "edge");
    expect(joined).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^kubectl apply -f https:\S+\/join\/\S+\n$/),
    });
    expect(joined.stderr).toContain("as an administrator there");
    const { body } = await exchange(platform, valueIn(joined.stdout));
    await using _ = await openFakeTunnel(platform, { key: body.key }, answerWith(GOOD_ANSWER));
    await expect.poll(async () => (await run("list")).stdout, WAIT).toMatch(/edge .*True .*0\.1\.0/);
    expect((await run("list")).stdout).toMatch(/CONNECTED\s+AGENT\s+RTT/);
    expect((await run("list", "-o", "name")).stdout).toContain("edge\n");
  });

  it("prints the manifests where kubectl does not trust the server, and the value for programs", async () => {
    const { stdout } = await run("join", "edge", "--manifests");
    expect(stdout).toContain("kind: Deployment\n");
    const { url } = JSON.parse((await run("join", "edge", "-o", "json")).stdout);
    expect((await exchange(platform, valueIn(url))).status).toBe(201);
  });

  it("connects an external virtual cluster of a project, and leaves alone what the platform runs", async () => {
    const joined = await run("join", "outer", "--project", "default");
    expect(joined).toMatchObject({ code: 0, stderr: expect.stringContaining("--namespace p-default") });
    const { body } = await exchange(platform, valueIn(joined.stdout));
    await using agent = await openFakeTunnel(platform, { key: body.key }, answerWith(GOOD_ANSWER));
    expect(await run("rotate", "outer", "--project", "default")).toMatchObject({
      code: 0,
      stdout: "the agent of virtual cluster outer of project default replaces its key, once it is connected\n",
    });
    expect(await run("leave", "outer", "--project", "default", "--yes")).toMatchObject({
      code: 0,
      stdout: "virtual cluster outer of project default left\n",
    });
    await agent.closed;
    const refused = await run("join", "demo", "--project", "default");
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("spec.external and spec.networkPeer")]);
    const { body: demo } = await platform.send({ path: "namespaces/p-default/virtualclusterinstances/demo" });
    expect(demo.spec.networkPeer).toBeUndefined();
  });

  it("has the agent of a cluster replace its key", async () => {
    const { body } = await exchange(platform, valueIn((await run("join", "rotated")).stdout));
    const asked: unknown[] = [];
    await using _ = await openFakeTunnel(platform, { key: body.key }, (stream, headers) => {
      if (headers[":authority"] === API_SERVER_AUTHORITY) return answerWith(GOOD_ANSWER)(stream);
      asked.push(`${headers[":method"]} ${headers[":path"]}`);
      stream.respond({ ":status": 202 }, { endStream: true });
    });
    expect((await run("rotate", "rotated")).code).toBe(0);
    await expect.poll(() => asked, WAIT).toContain("POST /rotate-key");
  });

  it("ends the tunnel of a cluster that leaves, and keeps the Cluster", async () => {
    const { body } = await exchange(platform, valueIn((await run("join", "leaving")).stdout));
    await using agent = await openFakeTunnel(platform, { key: body.key }, answerWith(GOOD_ANSWER));
    expect(await run("leave", "leaving")).toMatchObject({ code: 1, stderr: expect.stringContaining("--yes") });
    expect(await run("leave", "leaving", "--yes")).toMatchObject({ code: 0, stdout: "cluster leaving left\n" });
    await agent.closed;
    expect((await platform.send({ path: "clusters/leaving" })).status).toBe(200);
    // It may join again.
    expect((await run("join", "leaving")).code).toBe(0);
  });
});
