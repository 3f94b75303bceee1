// Administrators of a virtual cluster name its users, and make as many as they like: none of them has a share of the server of its own, or the name of a user
// of the platform.

import { generateKeyPairSync } from "node:crypto";
import { readFile } from "node:fs/promises";
import { Agent, request } from "node:https";
import type { Socket } from "node:net";
import { createCertificateRequest } from "@postern/platform/foundation/pki/certificate-request";
import { expect, it } from "vitest";
import { adminKey, agentClient, httpClient } from "../e2e/testing/http-client.ts";
import { startOwnServer } from "../e2e/testing/own-server.ts";
import { CONFIG_MAPS, POLL, pathOf } from "./testing/threads/clusters.ts";

const CONNECTIONS = 20;
const API = "/apis/management.postern/v1";
const CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts";

it("ServiceAccounts of one virtual cluster take no connections from other users", async () => {
  await using server = await startOwnServer(["--max-connections", String(CONNECTIONS), "--threads", "1"]);
  const [send, admin] = [await httpClient(server), await adminKey(server)];
  const create = async (path: string, body: object) => {
    const made = await send(path, { key: admin, body });
    expect(made.status, made.text).toBe(201);
    return made.body;
  };
  await expect.poll(async () => (await send(pathOf("demo", CONFIG_MAPS), { key: admin })).status, POLL).toBe(200);
  const tokens: string[] = [];
  for (let number = 0; number < CONNECTIONS + 4; number++) {
    await create(pathOf("demo", ACCOUNTS), { metadata: { name: `a${number}` } });
    const { status } = await create(pathOf("demo", `${ACCOUNTS}/a${number}/token`), { spec: {} });
    tokens.push(status.token);
  }

  const ca = await readFile(server.caFile);
  const agents: Agent[] = [];
  using _ = {
    [Symbol.dispose]() {
      for (const agent of agents) agent.destroy();
    },
  };
  /** A connection of its own, which stays open. */
  const connect = (key: string): Promise<Socket> => {
    const agent = new Agent({ ca, keepAlive: true });
    agents.push(agent);
    return new Promise((resolve, reject) => {
      const sent = request(`${server.url}${pathOf("demo", "/api")}`, {
        agent,
        headers: { authorization: `Bearer ${key}` },
      });
      sent.once("error", reject);
      sent.once("response", (response) => {
        const { socket } = response;
        response
          .resume()
          .once("end", () => (response.statusCode === 200 ? resolve(socket) : reject(response.statusCode)));
      });
      sent.end();
    });
  };
  const open = (sockets: readonly Socket[]): number => sockets.filter(({ destroyed }) => !destroyed).length;

  const people = [await connect(admin), await connect(admin), await connect(admin)];
  const accounts: Socket[] = [];
  for (const token of tokens) accounts.push(await connect(token));
  // A quarter is the share of one user.
  await expect.poll(() => open(accounts), POLL).toBeLessThanOrEqual(CONNECTIONS / 4);
  expect(open(people)).toBe(3);
});

it("a certificate of a virtual cluster does nothing in the name of a user of the platform", async () => {
  await using server = await startOwnServer();
  const [send, admin] = [await httpClient(server), await adminKey(server)];
  const call = async (path: string, method: string, body: object, status: number) => {
    const answer = await send(path, { key: admin, method, body });
    expect(answer.status, answer.text).toBe(status);
    return answer.body;
  };
  for (const name of ["jane", "mallory"]) await call(`${API}/users`, "POST", { metadata: { name }, spec: {} }, 201);
  const members = [{ kind: "User", name: "mallory", clusterRole: "postern:project-admin" }];
  const patch = { headers: { "content-type": "application/merge-patch+json" }, method: "PATCH", key: admin };
  expect((await send(`${API}/projects/default`, { ...patch, body: { spec: { members } } })).status).toBe(200);
  const { spec } = await call(
    `${API}/ownedaccesskeys`,
    "POST",
    { metadata: { name: "m" }, spec: { user: "mallory" } },
    201,
  );
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const subject = { commonName: "jane", organizations: ["postern:admins"] };
  const request = Buffer.from(createCertificateRequest(privateKey, subject)).toString("base64");
  const ask = { request, signerName: "kubernetes.io/kube-apiserver-client", usages: ["client auth"] };
  const key = spec.key;
  const made = await send(pathOf("demo", CSRS), { key, body: { metadata: { name: "c" }, spec: ask } });
  const approved = {
    ...made.body,
    status: { conditions: [{ type: "Approved", status: "True", reason: "x", message: "" }] },
  };
  expect((await send(pathOf("demo", `${CSRS}/c/approval`), { key, method: "PUT", body: approved })).status).toBe(200);
  const signed = async (): Promise<string | undefined> =>
    (await send(pathOf("demo", `${CSRS}/c`), { key })).body.status.certificate;
  await expect.poll(signed, POLL).toBeTypeOf("string");
  const agent = new Agent({
    ca: await readFile(server.caFile),
    cert: Buffer.from((await signed()) ?? "", "base64"),
    key: privateKey.export({ type: "pkcs8", format: "pem" }),
  });
  const asJane = agentClient(server.url, agent);
  const path = pathOf("demo", `${CONFIG_MAPS}/of-jane`);
  expect((await asJane(path, { method: "DELETE" })).status).toBe(403);
  agent.destroy();

  const found = async (user: string) => (await send(`/audit/events?user=${user}`, { key: admin })).body.items;
  const ofMallory = async () => (await found("mallory")).filter(({ object }: any) => object.includes("of-jane"));
  // Another thread writes it a moment later.
  await expect
    .poll(ofMallory, POLL)
    .toMatchObject([{ user: "jane", owner: "user/mallory", cluster: "virtualcluster/default/demo" }]);
  expect((await found("jane")).filter(({ object }: any) => object.includes("of-jane"))).toEqual([]);
});
