// A server that has lost sight of etcd believes no credential, whichever way and wherever it comes in.

import { readFile } from "node:fs/promises";
import { request } from "node:https";
import { startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { startRelay } from "@postern/stores/etcd/testing/start-relay";
import { expect, it } from "vitest";
import { adminKey, httpClient, insist, openResponse } from "../e2e/testing/http-client.ts";
import { startOwnServer } from "../e2e/testing/own-server.ts";
import type { PosternProcess } from "../e2e/testing/postern-process.ts";
import { clusterPath, INSTANCES, KEYS, MANAGEMENT } from "../e2e/testing/two-posterns.ts";

const WAIT = { timeout: 60_000, interval: 100 };
const MAPS = `${clusterPath("demo")}/api/v1/namespaces/default/configmaps`;

/** Status that the server answers to a client with this certificate. */
async function statusByCertificate(server: PosternProcess, kubeConfig: string, path: string): Promise<number> {
  const pem = (name: string) => Buffer.from(new RegExp(`${name}-data: (\\S+)`).exec(kubeConfig)?.[1] ?? "", "base64");
  const [cert, key] = [pem("client-certificate"), pem("client-key")];
  const ca = await readFile(server.caFile);
  return await new Promise((resolve, reject) => {
    const sent = request(`${server.url}${path}`, { ca, cert, key, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on("error", reject);
    sent.end();
  });
}

it.skipIf(whyNoEtcd() !== undefined)(
  "a server that is cut off from etcd refuses all credentials, and closes open connections (security book 15)",
  async () => {
    await using etcd = await startEtcd();
    const [endpoint = ""] = etcd.endpoints;
    using way = await startRelay(endpoint);
    await using server = await startOwnServer(["--store", `etcd://${way.endpoint}`]);
    const [http, admin] = [await httpClient(server), await adminKey(server)];
    const made = (path: string, body: object) =>
      insist(async () => {
        const answer = await http(path, { key: admin, body });
        expect(answer.status, answer.text).toBe(201);
        return answer.body;
      });
    const statusOf = async (path: string, key: string, body?: object) =>
      (await http(path, { key, ...(body === undefined ? {} : { body }) })).status;
    const accounts = `${clusterPath("demo")}/api/v1/namespaces/default/serviceaccounts`;
    // Controllers bring both about, after the server has begun to answer.
    await expect
      .poll(async () => (await http(`${INSTANCES}/demo`, { key: admin })).body.status?.phase, WAIT)
      .toBe("Ready");
    await expect.poll(() => statusOf(`${accounts}/default`, admin), WAIT).toBe(200);

    const kubeConfig = async (spec: object): Promise<string> =>
      (await made(`${INSTANCES}/demo/kubeconfig`, { spec })).status.kubeConfig;
    const token = /token: (\S+)/.exec(await kubeConfig({}))?.[1] ?? "";
    const certificate = await kubeConfig({ clientCert: true });
    const serviceAccount = (await made(`${accounts}/default/token`, { spec: {} })).status.token;

    const whoAmI = `${clusterPath("demo")}/apis/authentication.k8s.io/v1/selfsubjectreviews`;
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    /** By name: what is asked, and what is answered as long as the server sees its store. */
    const asked: Readonly<Record<string, readonly [number, () => Promise<number>]>> = {
      "a key": [200, () => statusOf(KEYS, admin)],
      "a key for a kubeconfig": [201, () => statusOf(`${INSTANCES}/demo/kubeconfig`, admin, { spec: {} })],
      "a key at the proxy": [200, () => statusOf(MAPS, admin)],
      "the key of a kubeconfig": [200, () => statusOf(MAPS, token)],
      "the certificate of a kubeconfig": [200, () => statusByCertificate(server, certificate, MAPS)],
      "a ServiceAccount's token": [201, () => statusOf(whoAmI, serviceAccount, review)],
      "a key that it does not know": [401, () => statusOf(MAPS, `${admin}x`)],
    };
    const answers = async () =>
      Object.fromEntries(
        await Promise.all(Object.entries(asked).map(async ([name, [, ask]]) => [name, await ask()] as const)),
      );
    const sound = Object.fromEntries(Object.entries(asked).map(([name, [status]]) => [name, status]));
    // 503 for a moment where a thread has just ended.
    await expect.poll(answers, WAIT).toEqual(sound);
    const watches = await Promise.all(
      [MAPS, `${MANAGEMENT}/projects`].map((path) =>
        insist(async () => {
          const watch = await openResponse(server, `${path}?watch=true`, admin);
          expect(watch.status).toBe(200);
          return watch;
        }),
      ),
    );

    way.break();
    const refused = Object.fromEntries(Object.keys(asked).map((name) => [name, 503]));
    await expect.poll(answers, WAIT).toEqual(refused);
    await expect
      .poll(async () => (await http(MAPS, { key: token })).body.message, WAIT)
      .toMatch(/cannot reach its store/);
    await expect.poll(async () => (await http("/readyz")).text, WAIT).toMatch(/\[-\]freshness failed/);
    await Promise.all(watches.map(({ ended }) => ended));

    way.mend(endpoint);
    await expect.poll(answers, WAIT).toEqual(sound);
    await expect.poll(async () => (await http("/readyz")).status, WAIT).toBe(200);
  },
);
