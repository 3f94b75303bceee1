// A thief who holds the value of an access key, and makes everything with it that the server hands out.

import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { request } from "node:https";
import { decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";
import { adminKey, type HttpClient, httpClient } from "../../e2e/testing/http-client.ts";
import type { PosternProcess } from "../../e2e/testing/postern-process.ts";

const KEYS = "/apis/management.postern/v1/ownedaccesskeys";
const DEMO = "/apis/management.postern/v1/namespaces/p-default/virtualclusterinstances/demo";
const INSIDE = "/kubernetes/project/default/virtualcluster/demo";
const NARROW = { scope: { virtualClusters: [{ project: "default", virtualCluster: "demo" }] } };

/** A credential that was stolen from the server. */
export type Loot = {
  readonly what: string;
  readonly token?: string;
  readonly certificate?: { readonly cert: string; readonly key: string };
};

export type Attack = Awaited<ReturnType<typeof prepareAttack>>;

/** Requests as administrator and as anybody else, on a server that runs. */
export async function prepareAttack(server: PosternProcess) {
  const http = await httpClient(server);
  const admin = await adminKey(server);
  const ca = await readFile(server.caFile);
  let count = 0;
  // Two of them may attack one store.
  const tag = randomBytes(3).toString("hex");
  const unique = (): string => `t${tag}${(++count).toString(36)}`;

  const newKey = async (name: string, spec: object = {}, key = admin): Promise<string> => {
    const { status, body, text } = await http(KEYS, { key, body: { metadata: { name }, spec } });
    if (status !== 201) throw new Error(`no key ${name}: ${text}`);
    return body.spec.key;
  };

  const rotate = (name: string, spec: object = {}, key = admin) =>
    http(`${KEYS}/${name}/rotate`, { key, body: { spec: { nonce: unique(), ...spec } } });

  const statusWith = ({ token, certificate }: Loot): Promise<number> => {
    if (token !== undefined) return statusOf(http, token);
    return new Promise((resolve, reject) => {
      const sent = request(`${server.url}${INSIDE}/api`, { ca, agent: false, ...certificate }, (response) => {
        response.resume().on("end", () => resolve(response.statusCode ?? 0));
      });
      sent.on("error", reject).end();
    });
  };

  const kubeconfigWith = async (key: string, spec: object, what: string): Promise<readonly Loot[]> => {
    const { status, body } = await http(`${DEMO}/kubeconfig`, { key, body: { spec } });
    if (status !== 201) return [];
    const { user } = (decodeYaml(body.status.kubeConfig).value as any).users[0];
    if (user.token !== undefined) return [{ what, token: user.token }];
    const text = (member: string): string => Buffer.from(user[member], "base64").toString();
    return [{ what, certificate: { cert: text("client-certificate-data"), key: text("client-key-data") } }];
  };

  const keyWith = async (key: string, spec: object, what: string): Promise<readonly Loot[]> => {
    const { status, body } = await http(KEYS, { key, body: { metadata: { name: unique() }, spec } });
    return status === 201 ? [{ what, token: body.spec.key }] : [];
  };

  /** Credentials that can be made with a key, and with all that was made with it, two steps deep. */
  const steal = async (key: string, path = "", depth = 2): Promise<readonly Loot[]> => {
    const loot = [
      ...(await keyWith(key, {}, `${path}child`)),
      ...(await keyWith(key, NARROW, `${path}narrow child`)),
      ...(await kubeconfigWith(key, {}, `${path}token`)),
      ...(await kubeconfigWith(key, { clientCert: true }, `${path}certificate`)),
    ];
    if (depth === 1) return loot;
    const deeper: Loot[] = [];
    for (const { what, token } of loot) {
      if (token !== undefined) deeper.push(...(await steal(token, `${what} > `, depth - 1)));
    }
    return [...loot, ...deeper];
  };

  return {
    http,
    admin,
    newKey,
    rotate,
    steal,
    kubeconfigWith,
    unique,
    works: (token: string) => statusOf(http, token).then((status) => status === 200),
    /** Of some loot, what still opens something. */
    async working(loot: readonly Loot[]): Promise<readonly string[]> {
      const found = await Promise.all(loot.map(async (one) => ((await statusWith(one)) === 401 ? [] : [one.what])));
      return found.flat();
    },
    get: async (name: string) => (await http(`${KEYS}/${name}`, { key: admin })).body,
    patch: (name: string, body: object, key = admin) =>
      http(`${KEYS}/${name}`, {
        key,
        method: "PATCH",
        body: JSON.stringify(body),
        headers: { "content-type": "application/merge-patch+json" },
      }),
    /** The report is dealt with after its answer. */
    report: (text: string) => http("/leaks", { body: text }),
  };
}

/** A review that every live key may ask. */
const statusOf = async (http: HttpClient, key: string): Promise<number> => {
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const { status } = await http("/apis/authentication.k8s.io/v1/selfsubjectreviews", { key, body });
  return status === 201 ? 200 : status;
};
