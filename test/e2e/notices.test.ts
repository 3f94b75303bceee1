// Notices before access keys end, from real servers to a real receiver: two servers on one etcd, one of which goes.

import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { serverCertificate } from "@postern/apiserver/transport/testing/serve-handler";
import { type EtcdCluster, startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { adminKey, httpClient } from "./testing/http-client.ts";
import {
  kubectlWith,
  type PosternProcess,
  shareIdentity,
  startPostern,
  succeed,
  temporaryDirectory,
} from "./testing/postern-process.ts";

const WAIT = { timeout: 50_000, interval: 100 };

type Received = { readonly id: string; readonly key: string; readonly owner: unknown; readonly isRefused: boolean };

describe.skipIf(whyNoEtcd() !== undefined)("notices of two servers on one etcd", () => {
  const secret = `whsec_${randomBytes(32).toString("base64")}`;
  const received: Received[] = [];
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let etcd: EtcdCluster;
  let receiver: Server;
  let servers: PosternProcess[] = [];
  let flags: readonly string[];
  let firstIsRefused = true;

  const folder = (name: string): string => join(directory.path, name);
  const kubectl = (args: readonly string[], input?: string) =>
    kubectlWith(folder("one/admin.kubeconfig"), folder("cache"))(["--server", servers[0]?.url ?? "", ...args], input);
  const makeKey = async (name: string, spec: object): Promise<void> => {
    const object = { apiVersion: "management.postern/v1", kind: "OwnedAccessKey", metadata: { name }, spec };
    await succeed(kubectl(["create", "-f", "-"], JSON.stringify(object)));
  };
  const eventsAbout = async (name: string): Promise<readonly any[]> => {
    const selector = `involvedObject.name=${name},reason=ExpiresSoon`;
    const text = await succeed(kubectl(["get", "events", "--field-selector", selector, "-o", "json"]));
    return JSON.parse(text).items;
  };
  const about = (name: string) => received.filter(({ key }) => key === name);
  /** A key that was made with a second more than the lead time is due after that second, in whole ones. */
  const dueTime = async (): Promise<void> => {
    const at = Date.now() + 2_000;
    await expect.poll(() => Date.now(), WAIT).toBeGreaterThan(at);
  };
  const metricOf = async (series: string): Promise<number> => {
    let sum = 0;
    for (const server of servers) {
      const { text } = await (await httpClient(server))("/metrics", { key: await adminKey(server) });
      const line = text.split("\n").find((other) => other.startsWith(`${series} `));
      sum += Number(line?.slice(series.length + 1) ?? 0);
    }
    return sum;
  };

  beforeAll(async () => {
    directory = await temporaryDirectory();
    etcd = await startEtcd();
    receiver = createServer({ ...serverCertificate }, (request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (chunk) => (body += chunk));
      request.on("end", () => {
        const isRefused = firstIsRefused;
        firstIsRefused = false;
        // Throws for a signature that is not right.
        const { data } = new Webhook(secret).verify(body, request.headers as Record<string, string>) as any;
        const id = String(request.headers["webhook-id"]);
        received.push({ id, key: data.accessKey.name, owner: data.owner, isRefused });
        response.writeHead(isRefused ? 500 : 204).end();
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    await writeFile(folder("secret"), secret, { mode: 0o600 });
    await writeFile(folder("receiver.crt"), serverCertificate.cert);
    flags = [
      ...["--store", `etcd://${etcd.endpoints.join(",")}`],
      ...["--access-key-notice-lead-times", "1h,30m"],
      ...["--notice-webhook-url", `https://localhost:${(receiver.address() as AddressInfo).port}/notices`],
      ...["--notice-webhook-secret-file", folder("secret"), "--notice-webhook-ca-file", folder("receiver.crt")],
      ...["--notice-webhook-allowed-addresses", "127.0.0.1,::1"],
    ];
    servers = [await startPostern(folder("one"), flags)];
  });

  afterAll(async () => {
    for (const server of servers) await server[Symbol.asyncDispose]();
    receiver?.closeAllConnections();
    receiver?.close();
    await etcd?.[Symbol.asyncDispose]();
    await directory?.[Symbol.asyncDispose]();
  });

  it("gives keys of users a default TTL with a warning, and shows it; keys of machines never expire", async () => {
    const make = async (name: string, spec: object) => {
      const object = { apiVersion: "management.postern/v1", kind: "OwnedAccessKey", metadata: { name }, spec };
      return await kubectl(["create", "-f", "-"], JSON.stringify(object));
    };
    expect((await make("person", { user: "admin" })).stderr).toMatch(
      /Warning: spec\.ttl: unset, so the access key expires in 90d, at \d{4}-/,
    );
    expect((await make("machine", { subject: "robot" })).stderr).not.toContain("Warning");
    const columns = await succeed(kubectl(["get", "oak", "person", "machine", "--no-headers"]));
    const [person, machine] = columns.trim().split("\n");
    expect(person).toMatch(/^person .* (89|90)d /);
    expect(machine).toMatch(/^machine .* never /);
  });

  it("come once, as an Event and to the webhook, whichever server leads", async () => {
    await makeKey("soon", { user: "admin", ttl: 3601 });
    await makeKey("later", { user: "admin", ttl: 7200 });
    await dueTime();
    // The next leader finds the key at its first look.
    await servers[0]?.stop();
    servers = [await startPostern(folder("one"), flags)];
    await shareIdentity(folder("one"), folder("two"));
    servers.push(await startPostern(folder("two"), flags));

    await expect.poll(() => about("soon").map(({ isRefused }) => isRefused), WAIT).toEqual([true, false]);
    expect(new Set(about("soon").map(({ id }) => id)).size).toBe(1);
    expect(about("soon")[0]?.owner).toMatchObject({ kind: "user", name: "admin" });
    expect(await eventsAbout("soon")).toHaveLength(1);
    expect(await succeed(kubectl(["describe", "oak", "soon"]))).toMatch(
      /Warning\s+ExpiresSoon\s.*The access key of the user admin expires in \d+m/,
    );
    expect(await metricOf('postern_access_key_notices_total{lead_time="1h"}')).toBe(1);
    expect(await metricOf('postern_notice_webhook_deliveries_total{result="failed"}')).toBe(1);
    await expect.poll(() => metricOf('postern_notice_webhook_deliveries_total{result="delivered"}'), WAIT).toBe(1);

    await makeKey("marker", { user: "admin", ttl: 3601 });
    await dueTime();
    // The other one leads, if it did not already, and looks at all keys anew.
    await servers[0]?.stop();
    servers.shift();
    await expect.poll(() => about("marker").length, WAIT).toBe(1);
    await expect.poll(async () => (await eventsAbout("marker")).length, WAIT).toBe(1);
    expect(about("soon")).toHaveLength(2);
    expect(await eventsAbout("soon")).toHaveLength(1);
    expect([about("later").length, (await eventsAbout("later")).length]).toEqual([0, 0]);
  });
});
