// Credentials that one server issues and that are used at once on another server of the same etcd.

import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { request } from "node:https";
import { decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";
import { createAccessKeyFormat } from "@postern/platform/features/access-keys/secrets/access-key-format";
import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { adminKey, httpClient } from "../e2e/testing/http-client.ts";
import { type PosternProcess, startPostern } from "../e2e/testing/postern-process.ts";
import { startTwoOnEtcd, type TwoOnEtcd } from "../e2e/testing/two-on-etcd.ts";
import { type Browse, browserOf, OWN, SESSION } from "./testing/signing-in.ts";

const MANAGEMENT = "/apis/management.postern/v1";
const KEYS = `${MANAGEMENT}/ownedaccesskeys`;
const SELF = `${MANAGEMENT}/selves`;
const TRIES = 40;
const GUESSERS = 20;

describe.skipIf(whyNoEtcd() !== undefined)("credentials issued by another server", () => {
  let two: TwoOnEtcd<PosternProcess>;
  let issue: Awaited<ReturnType<typeof httpClient>>;
  let use: Awaited<ReturnType<typeof httpClient>>;
  let browsers: readonly Browse[] = [];
  let admin = "";

  beforeAll(async () => {
    two = await startTwoOnEtcd(startPostern, ["--failed-logins-per-minute", "0"]);
    const { servers } = two;
    [issue, use] = (await Promise.all(servers.map((server) => httpClient(server)))) as [typeof issue, typeof use];
    browsers = await Promise.all(servers.map(async ({ url, caFile }) => browserOf(url, await readFile(caFile))));
    admin = await adminKey(servers[0]);
  });
  afterAll(() => two?.[Symbol.asyncDispose]());

  /** The statuses of as many tries, counted. */
  const statuses = async (attempt: (at: number) => Promise<number>): Promise<Record<number, number>> => {
    const counts: Record<number, number> = {};
    for (let at = 0; at < TRIES; at++) {
      const status = await attempt(at);
      counts[status] = (counts[status] ?? 0) + 1;
    }
    return counts;
  };
  const create = async (name: string, spec: object = {}): Promise<string> =>
    (await issue(KEYS, { key: admin, body: { metadata: { name }, spec } })).body.spec.key;
  const asked = async (key: string): Promise<number> => (await use(SELF, { key, body: { spec: {} } })).status;

  /** The status inside a virtual cluster, on the other server, with the credential of a kubeconfig. */
  const opened = async (virtualCluster: string, spec: object): Promise<number> => {
    const instance = `${MANAGEMENT}/namespaces/p-default/virtualclusterinstances/${virtualCluster}`;
    const { body } = await issue(`${instance}/kubeconfig`, { key: admin, body: { spec } });
    const { user } = (decodeYaml(body.status.kubeConfig).value as any).users[0];
    const path = `/kubernetes/project/default/virtualcluster/${virtualCluster}/api/v1/namespaces`;
    if (user.token !== undefined) return (await use(path, { key: user.token })).status;
    const text = (member: string): string => Buffer.from(user[member], "base64").toString();
    const pair = { cert: text("client-certificate-data"), key: text("client-key-data") };
    const { url, caFile } = two.servers[1];
    const ca = await readFile(caFile);
    return await new Promise((resolve, reject) => {
      const sent = request(`${url}${path}`, { ca, agent: false, ...pair }, (response) => {
        response.resume().on("end", () => resolve(response.statusCode ?? 0));
      });
      sent.on("error", reject).end();
    });
  };
  const isReady = async (virtualCluster: string): Promise<void> => {
    const path = `${MANAGEMENT}/namespaces/p-default/virtualclusterinstances/${virtualCluster}`;
    await expect.poll(async () => (await issue(path, { key: admin })).body.status?.phase).toBe("Ready");
  };

  it("accepts access keys, and keys that were created with them", async () => {
    expect(await statuses(async (at) => asked(await create(`k${at}`)))).toEqual({ 201: TRIES });
    const parent = await create("parent", { ttl: 3600 });
    const child = async (at: number): Promise<number> => {
      const body = { metadata: { name: `child${at}` }, spec: { ttl: 600 } };
      return asked((await issue(KEYS, { key: parent, body })).body.spec.key);
    };
    expect(await statuses(child)).toEqual({ 201: TRIES });
  });

  it("accepts new values of a rotated key, and keys that are enabled again", async () => {
    await create("rotated");
    const rotate = async (at: number): Promise<number> => {
      const { body } = await issue(`${KEYS}/rotated/rotate`, {
        key: admin,
        body: { spec: { nonce: `nonce-of-rotation-${at}` } },
      });
      return asked(body.status.key);
    };
    expect(await statuses(rotate)).toEqual({ 201: TRIES });
    const switched = await create("switched");
    const patch = (disabled: boolean) =>
      issue(`${KEYS}/switched`, {
        key: admin,
        method: "PATCH",
        headers: { "content-type": "application/merge-patch+json" },
        body: { spec: { disabled } },
      } as never);
    const enable = async (): Promise<number> => {
      await patch(true);
      await patch(false);
      return asked(switched);
    };
    expect(await statuses(enable)).toEqual({ 201: TRIES });
  });

  it("accepts values that clients chose, also beside guesses of such values", async () => {
    const chosen = async (at: number): Promise<number> => {
      const key = `q7Zr2mXw9TbKf4LcV8nYd3HsJ6gPa5Eu-${100 + at}`;
      await create(`chosen${at}`, { key });
      return asked(key);
    };
    let isDone = false;
    const lane = async (at: number): Promise<Set<number>> => {
      const answers = new Set<number>();
      while (!isDone) answers.add(await asked(`guessed-by-somebody-else-number-${at}`));
      return answers;
    };
    const guesses = Promise.all(Array.from({ length: 5 }, (_, at) => lane(at)));
    try {
      expect(await statuses(chosen)).toEqual({ 201: TRIES });
    } finally {
      isDone = true;
    }
    for (const answers of await guesses) expect([...answers]).toEqual([401]);
  });

  it("accepts tokens of kubeconfigs", async () => {
    const inside = "/kubernetes/project/default/virtualcluster/demo/api/v1/namespaces";
    await isReady("demo");
    expect(await statuses(() => opened("demo", {}))).toEqual({ 200: TRIES });
    const token = async (at: number): Promise<number> => {
      const accounts = `${inside}/default/serviceaccounts`;
      const metadata = { name: `robot${at}` };
      expect((await issue(accounts, { key: admin, body: { metadata } })).status).toBe(201);
      const { body } = await issue(`${accounts}/robot${at}/token`, { key: admin, body: { spec: {} } });
      // Without permissions: the account is known, but may not list.
      return (await use(inside, { key: body.status.token })).status;
    };
    expect(await statuses(token)).toEqual({ 403: TRIES });
  });

  it("accepts browser sessions, also of new keys", async () => {
    const keyed = async (at: number): Promise<number> => {
      const key = await create(`signs-in-${at}`);
      // The key is as new as the session: either may be asked for first.
      const { status, headers } = await (at % 2 === 0 ? issue : use)("/login/session", {
        body: { key },
        headers: OWN,
      });
      expect(status).toBe(200);
      const value = new RegExp(`${SESSION}=([^;]+)`).exec(String(headers["set-cookie"]))?.[1] ?? "";
      const other = browsers[at % 2 === 0 ? 1 : 0] as (typeof browsers)[number];
      const cookies = new Map([[SESSION, value]]);
      const [page, shown, read] = await Promise.all([
        other("/profile/access-keys", cookies),
        other("/login/session", cookies, undefined, OWN),
        other(KEYS, cookies, undefined, OWN),
      ]);
      return Math.max(page.status, shown.status, read.status);
    };
    expect(await statuses(keyed)).toEqual({ 200: TRIES });
  });

  it("accepts client certificates of embedded clusters", async () => {
    await isReady("demo");
    expect(await statuses(() => opened("demo", { clientCert: true }))).toEqual({ 200: TRIES });
  });

  it.each([{}, { clientCert: true }])(
    "accepts credentials %j of a virtual cluster that just became ready",
    async (spec) => {
      const answers: number[] = [];
      for (let at = 0; at < 10; at++) {
        const name = `fresh-${Object.keys(spec).length}-${at}`;
        const instances = `${MANAGEMENT}/namespaces/p-default/virtualclusterinstances`;
        expect((await issue(instances, { key: admin, body: { metadata: { name }, spec: {} } })).status).toBe(201);
        await isReady(name);
        answers.push(await opened(name, spec));
      }
      expect(answers).toEqual(new Array(10).fill(200));
    },
  );

  it("refuses guesses while keys of the other server are accepted", async () => {
    // Well formed, so each one asks for an id that this server has not heard of.
    const { generate } = createAccessKeyFormat("postern");
    const guess = (): string => generate({ bytes: randomBytes }).value;
    // More connections at once from one address are closed.
    const lane = async (first: number): Promise<number[]> => {
      const answers: number[] = [];
      for (let at = first; at < 200; at += GUESSERS) answers.push(await asked(guess()));
      return answers;
    };
    const guesses = Promise.all(Array.from({ length: GUESSERS }, (_, first) => lane(first)));
    expect(await statuses(async (at) => asked(await create(`beside${at}`)))).toEqual({ 201: TRIES });
    expect(new Set((await guesses).flat())).toEqual(new Set([401]));
  });
});
