// Trust rules on two servers of one etcd: a token is taken by one of them, and what a rule gave ends on both when either has answered.

import { githubClaims } from "@postern/platform/features/trust/testing/ci-claims";
import { type ServedIssuer, serveIssuer } from "@postern/platform/foundation/issuers/testing/serve-issuer";
import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PosternProcess, startPostern } from "../e2e/testing/postern-process.ts";
import { startTwoOnEtcd, type TwoOnEtcd } from "../e2e/testing/two-on-etcd.ts";
import { attackerOf } from "./testing/attacking.ts";
import { AUDIENCE } from "./testing/exchanging.ts";

const ROUNDS = 10;

describe.skipIf(whyNoEtcd() !== undefined)("two servers on one etcd (security book 13, 18, 23)", () => {
  let two: TwoOnEtcd<PosternProcess>;
  let clients: readonly Awaited<ReturnType<typeof attackerOf>>[];
  let issuer: ServedIssuer;

  beforeAll(async () => {
    issuer = await serveIssuer();
    two = await startTwoOnEtcd(startPostern, ["--failed-logins-per-minute", "0"]);
    clients = await Promise.all(two.servers.map((server) => attackerOf(server)));
    await clients[0]?.must({ path: "users", body: { metadata: { name: "bot" }, spec: { kind: "Bot" } } });
  });
  afterAll(async () => {
    await two?.[Symbol.asyncDispose]();
    await issuer?.[Symbol.asyncDispose]();
  });

  const clientAt = (at: number) => {
    const client = clients[at % 2];
    if (client === undefined) throw new Error("there are two servers");
    return client;
  };
  const rule = (name: string, spec: object = {}) =>
    clientAt(0).must({
      path: "clustertrustrules",
      body: {
        metadata: { name },
        spec: {
          issuer: { url: issuer.url, jwks: issuer.keySet() },
          audiences: [AUDIENCE],
          user: "bot",
          scope: { projects: [{ project: "default" }] },
          ...spec,
        },
      },
    });
  const exchangeAt = (at: number, name: string, token: string) =>
    clientAt(at).send({
      path: "/oauth/token",
      as: "",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({
        grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
        subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
        subject_token: token,
        rule: name,
      }).toString(),
    });
  const isGoodAt = async (at: number, key: string): Promise<boolean> =>
    (await clientAt(at).send({ path: "selves", as: key, body: {} })).status === 201;

  it("take a token once between them, shown to both at the same moment", async () => {
    await rule("once", { singleUse: true });
    const knows = async (): Promise<number> => (await clientAt(1).send({ path: "clustertrustrules/once" })).status;
    await expect.poll(knows).toBe(200);
    for (let round = 0; round < ROUNDS; round++) {
      const token = await issuer.sign(githubClaims());
      const answers = await Promise.all(Array.from({ length: 8 }, (_, at) => exchangeAt(at, "once", token)));
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(7).fill(400)]);
    }
  });

  it("refuse keys of a rule from the response on with which the other one ended it", async () => {
    const ends = [
      (name: string) => ({ method: "DELETE", path: `clustertrustrules/${name}` }),
      (name: string) => ({
        method: "PATCH",
        path: `clustertrustrules/${name}`,
        body: { spec: { disabled: true } },
        headers: { "content-type": "application/merge-patch+json" },
      }),
    ];
    for (let round = 0; round < ROUNDS; round++) {
      const name = `ending-${round}`;
      await rule(name);
      const token = await issuer.sign(githubClaims());
      const { status, body, text } = await exchangeAt(0, name, token);
      expect([status, text]).toEqual([200, expect.any(String)]);
      await expect.poll(() => isGoodAt(1, body.access_token)).toBe(true);
      await clientAt(round).must(ends[round % ends.length]?.(name) ?? { path: "" });
      const after = await Promise.all([isGoodAt(0, body.access_token), isGoodAt(1, body.access_token)]);
      const again = await Promise.all([exchangeAt(0, name, token), exchangeAt(1, name, token)]);
      expect([after, again.map((answer) => answer.status)]).toEqual([
        [false, false],
        [400, 400],
      ]);
    }
  });
});
