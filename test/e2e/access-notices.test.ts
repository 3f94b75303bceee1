// Access requests at a real receiver of the notice webhook: signed, once for each phase, again after a failure.

import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { serverCertificate } from "@postern/apiserver/transport/testing/serve-handler";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AttackedServer, startAttacked } from "../attacks/testing/attacking.ts";
import { temporaryDirectory } from "./testing/postern-process.ts";

type Received = { readonly id: string; readonly type: string; readonly text: string; readonly phase: string };

const secret = `whsec_${randomBytes(32).toString("base64")}`;
const received: Received[] = [];
let isRefusing = true;
let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let receiver: Server;
let server: AttackedServer;
let ann: string;
let carl: string;

beforeAll(async () => {
  directory = await temporaryDirectory();
  receiver = createServer({ ...serverCertificate }, (request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      // Throws for a signature that is not right.
      const message = new Webhook(secret).verify(body, request.headers as Record<string, string>) as any;
      const { type, text, data } = message;
      if (!isRefusing)
        received.push({ id: String(request.headers["webhook-id"]), type, text, phase: data.accessRequest.phase });
      response.writeHead(isRefusing ? 500 : 204).end();
      isRefusing = false;
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const [secretFile, caFile] = [join(directory.path, "secret"), join(directory.path, "receiver.crt")];
  await writeFile(secretFile, secret, { mode: 0o600 });
  await writeFile(caFile, serverCertificate.cert);
  server = await startAttacked([
    ...["--notice-webhook-url", `https://localhost:${(receiver.address() as AddressInfo).port}/notices`],
    ...["--notice-webhook-secret-file", secretFile, "--notice-webhook-ca-file", caFile],
    ...["--notice-webhook-allowed-addresses", "127.0.0.1,::1"],
  ]);
  [ann, carl] = [await server.user("ann"), await server.user("carl")];
  await server.must({
    path: "clusteraccesspolicies",
    body: {
      metadata: { name: "oncall" },
      spec: {
        requesters: { users: ["ann"] },
        approvers: { users: ["carl"] },
        maxDurationSeconds: 600,
        allowEmergency: true,
        targets: [{ kind: "VirtualCluster", projects: ["default"], names: ["demo"], roles: ["edit"] }],
      },
    },
  });
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  receiver?.closeAllConnections();
  receiver?.close();
  await directory?.[Symbol.asyncDispose]();
});

const spec = { policy: { name: "oncall" }, target: { project: "default", virtualCluster: "demo" }, role: "edit" };
const ask = (name: string, more: object) =>
  server.must({ path: "accessrequests", as: ann, body: { metadata: { name }, spec: { ...spec, ...more } } });
const decide = (name: string, decision: string) =>
  server.must({ path: `accessrequests/${name}/approval`, as: carl, body: { spec: { decision } } });

test("the webhook receives each phase of a request once, with a text for chats", async () => {
  await ask("one", { reason: "OPS-1" });
  // The first attempt was refused.
  await expect.poll(() => received.map(({ type }) => type)).toEqual(["accessrequest.pending"]);
  await decide("one", "Approve");
  await expect.poll(() => received.length).toBe(2);
  await decide("one", "Revoke");
  await expect.poll(() => received.length).toBe(3);
  await ask("two", { emergency: true, reason: "OPS-2" });
  await expect.poll(() => received.length).toBe(4);
  expect(received.map(({ type, text }) => [type, text])).toEqual([
    [
      "accessrequest.pending",
      "Request for access of ann to virtual cluster default/demo as edit: OPS-1 (postern access approve one)",
    ],
    ["accessrequest.approved", "Approved: access of ann to virtual cluster default/demo as edit (approved by carl)"],
    ["accessrequest.revoked", "Revoked: access of ann to virtual cluster default/demo as edit (revoked by carl)"],
    [
      "accessrequest.emergency",
      "EMERGENCY access of ann to virtual cluster default/demo as edit: OPS-2 (review it: postern access review two)",
    ],
  ]);
  expect(new Set(received.map(({ id }) => id)).size).toBe(4);
  await expect
    .poll(async () => (await server.must({ path: "accessrequests/two" })).status.noticedPhase)
    .toBe("Approved");
});
