// Attacks by whole requests: many of them, large ones, and those that are dear to answer.

import { generateKeyPairSync, randomBytes } from "node:crypto";
import {
  definitionManifest,
  definitionVersion,
} from "@postern/kubernetes/custom-resources/testing/definition-manifest";
import { FRAME, frame } from "../raw-http2.ts";
import { type Attack, pause, type Target } from "./attack.ts";
import { type Flood, flood1, http2Headers, onSessions, type RequestText, sendOnce } from "./wire.ts";

const API = "/apis/management.postern/v1";
const REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews";

const text = (request: object): string => JSON.stringify(request);
const object = (apiVersion: string, kind: string, rest: object): string => text({ apiVersion, kind, ...rest });

type FloodOptions = Partial<Pick<Flood, "connections" | "depth"> & Pick<Attack, "shows" | "prepare">>;

/** A flood whose requests depend on nothing but the target and their number. */
const flood = (
  name: string,
  next: (target: Target, number: number) => RequestText,
  { connections = 40, depth = 4, shows = /^20[01]$/, prepare }: FloodOptions = {},
): Attack => ({
  name,
  shows,
  ...(prepare === undefined ? {} : { prepare }),
  run: (target, count, signal) =>
    flood1(target, { connections, depth, next: (number) => next(target, number) }, count, signal),
});

/** As many as are taken. */
const SOME_MEMBERS = 30_000;
const manyMembers = object("v1", "ConfigMap", {
  metadata: { name: "many" },
  data: Object.fromEntries(Array.from({ length: SOME_MEMBERS }, (_, index) => [`k${index}`, ""])),
});
const longText = object("management.postern/v1", "OwnedAccessKey", {
  metadata: { name: "long" },
  spec: { description: "x".repeat(2_900_000) },
});
const deep = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"deep"},"data":${"[".repeat(60)}${"[],".repeat(40_000)}[]${"]".repeat(60)}}`;
const yaml = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\ndata:\n${Array.from({ length: 30_000 }, (_, index) => `  key-${index}: "v"\n`).join("")}`;
const values = Array.from({ length: 6_000 }, (_, index) => `v${index}`).join(",");
const selector = encodeURIComponent(`a in (${values}),b notin (${values})`);
const clauses = (count: number, each: string): string =>
  encodeURIComponent(Array.from({ length: count }, (_, index) => `a${index}${each}`).join(","));
const tooManyClauses = clauses(8_000, "!=b");
/** As many as are taken, in as many characters. */
const mostClauses = clauses(1_000, ` notin (${Array.from({ length: 40 }, (_, index) => index).join(",")})`);
/** Resolves when there is one, from this attack or another. */
async function makeManyMembers(target: Target): Promise<void> {
  const { cluster, key } = target;
  const request = { path: `${cluster}/api/v1/namespaces/default/configmaps`, key, body: manyMembers };
  const status = await sendOnce(target, request);
  if (status !== 201 && status !== 409) throw new Error(`no object of many members: ${status}`);
}

const { publicKey } = generateKeyPairSync("ed25519");
const certificateText = publicKey.export({ type: "spki", format: "pem" });

/** Looks like an access key, and is none. */
const unknownToken = (number: number): string =>
  number % 2 === 0 ? randomBytes(24).toString("base64url") : `pk_${randomBytes(30).toString("base64url")}`;

const EXPENSIVE_RULE = "self.items.all(a, self.items.all(b, a == b || a.size() + b.size() > 0))";
export const EXPENSIVE_DEFINITION = definitionManifest(
  { group: "attack.example", kind: "Cost", plural: "costs" },
  definitionVersion("v1", {
    type: "object",
    properties: {
      spec: {
        type: "object",
        "x-kubernetes-validations": [{ rule: EXPENSIVE_RULE }],
        properties: { items: { type: "array", maxItems: 400, items: { type: "string", maxLength: 20 } } },
      },
    },
  }),
);
const costly = object("attack.example/v1", "Cost", {
  metadata: { generateName: "c-" },
  spec: { items: Array.from({ length: 400 }, (_, index) => `a${index}`) },
});

export const REQUEST_ATTACKS: readonly Attack[] = [
  flood("many requests from the weakest key", ({ weak }) => ({ path: `${API}/ownedaccesskeys`, key: weak }), {
    shows: /^403$/,
  }),
  flood("many reads from one key", ({ key, keyName }) => ({ path: `${API}/ownedaccesskeys/${keyName}`, key }), {
    connections: 60,
    depth: 16,
  }),
  flood(
    "many reads from one user with 40 keys",
    ({ keys, keyName }, number) => ({
      path: `${API}/ownedaccesskeys/${keyName}`,
      key: keys[number % keys.length] ?? "",
    }),
    { connections: 60, depth: 16 },
  ),
  flood("many writes from one user with 40 keys", ({ keys, keyName }, number) => ({
    path: `${API}/ownedaccesskeys/${keyName}`,
    method: "PATCH",
    key: keys[number % keys.length] ?? "",
    body: text({ spec: { description: `once more, ${number}` } }),
    headers: { "content-type": "application/merge-patch+json" },
  })),
  flood("keys made and deleted by the hundred", ({ keys }, number) => ({
    path: `${API}/ownedaccesskeys${number % 8 === 7 ? "?dryRun=All" : ""}`,
    key: keys[number % keys.length] ?? "",
    body: object("management.postern/v1", "OwnedAccessKey", {
      metadata: { generateName: "m-" },
      spec: { user: "attacker", ttl: 60 },
    }),
  })),
  {
    name: "many reads over HTTP/2, 250 streams on each connection",
    shows: /^requests$/,
    run: (target, count, signal) =>
      onSessions(target, 8, count, signal, async (session, number) => {
        const path = `${API}/ownedaccesskeys/${target.keyName}`;
        const key = target.keys[number % target.keys.length] ?? "";
        let stream = -1;
        while (session.isOpen() && !signal.aborted && stream < 2 ** 30) {
          for (let each = 0; each < 250; each++) {
            stream += 2;
            session.send(http2Headers(stream, { path, key }));
          }
          session.send(frame(FRAME.windowUpdate, 0, 0, Buffer.from([0, 8, 0, 0])));
          count("requests", 250);
          await session.drained();
          await pause(20, signal);
        }
      }),
  },
  flood("different unknown tokens", (_, number) => ({ path: `${API}/users`, key: unknownToken(number) }), {
    connections: 100,
    depth: 8,
    shows: /^401$/,
  }),
  flood("token reviews of different unknown tokens", ({ key, cluster }, number) => ({
    path: `${cluster}${REVIEWS}`,
    key,
    body: object("authentication.k8s.io/v1", "TokenReview", { spec: { token: unknownToken(number) } }),
  })),
  flood(
    "tokens of nobody that are to be exchanged",
    (_, number) => ({
      path: "/oauth/token",
      body: new URLSearchParams({
        grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
        subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
        subject_token: `${unknownToken(number)}.${unknownToken(number)}.${unknownToken(number)}`,
      }).toString(),
      headers: { "content-type": "application/x-www-form-urlencoded" },
    }),
    { shows: /^40[013]$/ },
  ),
  flood(
    "leak reports without a credential",
    (_, number) => ({
      path: "/leaks",
      body: Array.from({ length: 200 }, (__, each) => unknownToken(number + each)).join(" "),
      headers: { "content-type": "text/plain" },
    }),
    { shows: /^(200|202|429)$/ },
  ),
  flood("large lists", ({ key, cluster }) => ({ path: `${cluster}/api/v1/configmaps`, key }), {
    connections: 32,
    depth: 2,
  }),
  flood(
    "large lists as tables",
    ({ key, cluster }) => ({
      path: `${cluster}/api/v1/configmaps?pretty=true`,
      key,
      headers: { accept: "application/json;as=Table;g=meta.k8s.io;v=v1,application/json" },
    }),
    { connections: 32, depth: 2 },
  ),
  flood(
    "large lists, compressed",
    ({ key, cluster }) => ({
      path: `${cluster}/api/v1/configmaps`,
      key,
      headers: { "accept-encoding": "gzip" },
    }),
    { connections: 32, depth: 2 },
  ),
  flood("lists of one object after the other", ({ key, cluster }) => ({
    path: `${cluster}/api/v1/configmaps?limit=1&fieldSelector=metadata.name!%3Dx`,
    key,
  })),
  flood("lists of all keys and users", ({ key }, number) => ({
    path: `${API}/${["ownedaccesskeys", "users", "projects"][number % 3]}`,
    key,
  })),
  flood("label selectors of 70 kB", ({ key, cluster }) => ({
    path: `${cluster}/api/v1/configmaps?labelSelector=${selector}`,
    key,
  })),
  flood("label selectors with 1,000 clauses", ({ key, cluster }) => ({
    path: `${cluster}/api/v1/configmaps?labelSelector=${mostClauses}`,
    key,
  })),
  flood(
    "label selectors with 8,000 clauses, which are refused",
    ({ key, cluster }) => ({ path: `${cluster}/api/v1/configmaps?labelSelector=${tooManyClauses}`, key }),
    { shows: /^400$/ },
  ),
  flood(
    "bodies of 3 MB with the weakest key",
    ({ weak }) => ({ path: `${API}/ownedaccesskeys`, key: weak, body: longText }),
    { connections: 16, depth: 1, shows: /^(403|422)$/ },
  ),
  flood(
    "bodies of 30,000 members",
    ({ key, cluster }) => ({ path: `${cluster}/api/v1/namespaces/default/configmaps`, key, body: manyMembers }),
    { connections: 16, depth: 1, shows: /^(201|409)$/ },
  ),
  flood(
    "objects of 30,000 members that are changed and read in other forms",
    ({ key, cluster }, number) => {
      const path = `${cluster}/api/v1/namespaces/default/configmaps/many`;
      const body = text({ data: { number: String(number) } });
      if (number % 2 === 0)
        return { path, method: "PATCH", key, body, headers: { "content-type": "application/merge-patch+json" } };
      const table = "application/json;as=Table;g=meta.k8s.io;v=v1";
      return { path, key, headers: { accept: number % 4 === 1 ? "application/yaml" : table } };
    },
    { connections: 16, depth: 1, shows: /^200$/, prepare: makeManyMembers },
  ),
  flood(
    "bodies that nest",
    ({ key, cluster }) => ({ path: `${cluster}/api/v1/namespaces/default/configmaps`, key, body: deep }),
    { connections: 16, depth: 1, shows: /^400$/ },
  ),
  flood(
    "bodies of 500 kB of YAML",
    ({ key, cluster }) => ({
      path: `${cluster}/api/v1/namespaces/default/configmaps?dryRun=All`,
      key,
      body: yaml,
      headers: { "content-type": "application/yaml" },
    }),
    { connections: 16, depth: 1 },
  ),
  flood(
    "expensive rules in custom resources",
    ({ key, cluster }) => ({
      path: `${cluster}/apis/attack.example/v1/costs?dryRun=All`,
      key,
      body: costly,
    }),
    { shows: /^(201|422)$/ },
  ),
  flood("kubeconfigs with certificates", ({ key, instance }) => ({
    path: `${instance}/kubeconfig`,
    key,
    body: object("management.postern/v1", "VirtualClusterInstanceKubeConfig", { spec: { clientCert: true } }),
  })),
  flood("kubeconfigs with tokens", ({ key, instance }) => ({
    path: `${instance}/kubeconfig`,
    key,
    body: object("management.postern/v1", "VirtualClusterInstanceKubeConfig", { spec: {} }),
  })),
  flood(
    "certificate requests",
    ({ key, cluster }) => ({
      path: `${cluster}/apis/certificates.k8s.io/v1/certificatesigningrequests?dryRun=All`,
      key,
      body: object("certificates.k8s.io/v1", "CertificateSigningRequest", {
        metadata: { generateName: "c-" },
        spec: {
          request: Buffer.from(certificateText).toString("base64"),
          signerName: "kubernetes.io/kube-apiserver-client",
          usages: ["client auth"],
        },
      }),
    }),
    { shows: /^(201|422)$/ },
  ),
  flood("all of discovery and OpenAPI", ({ weak, cluster, key }, number) => ({
    path: ["/openapi/v2", "/openapi/v3", "/apis", `${cluster}/openapi/v2`][number % 4] ?? "",
    key: number % 4 === 3 ? key : weak,
    headers: { "accept-encoding": number % 2 === 0 ? "gzip" : "identity" },
  })),
  flood("reviews of rights", ({ key, cluster }) => ({
    path: `${cluster}/apis/authorization.k8s.io/v1/selfsubjectrulesreviews`,
    key,
    body: object("authorization.k8s.io/v1", "SelfSubjectRulesReview", { spec: { namespace: "default" } }),
  })),
  flood(
    "heads of 900 kB",
    ({ weak }) => ({ path: `${API}/users`, key: weak, headers: { "x-filler": "x".repeat(900_000) } }),
    { connections: 16, depth: 1, shows: /^431$/ },
  ),
  flood(
    "watches opened over and over",
    ({ keys, cluster }, number) => ({
      path: `${cluster}/api/v1/configmaps?watch=true&timeoutSeconds=1`,
      key: keys[number % keys.length] ?? "",
    }),
    { connections: 100, depth: 1 },
  ),
  {
    name: "slow watchers of a busy resource",
    shows: /^200$/,
    async run(target, count, signal) {
      const objects = `${target.cluster}/api/v1/namespaces/default/configmaps`;
      const watching = onSessions(target, 12, count, signal, async (session) => {
        for (let stream = 1; stream < 80; stream += 2) {
          session.send(http2Headers(stream, { path: `${objects}?watch=true`, key: target.key }));
        }
        count("watches", 40);
        await pause(300, signal);
        session.socket.pause();
        while (session.isOpen() && !signal.aborted) await pause(100, signal);
      });
      const writing = flood1(
        target,
        {
          connections: 4,
          depth: 4,
          next: (number) => ({
            path: `${objects}/filler-${number % 50}`,
            method: "PATCH",
            key: target.key,
            body: text({ data: { text: "x".repeat(60_000), number: String(number) } }),
            headers: { "content-type": "application/merge-patch+json" },
          }),
        },
        count,
        signal,
      );
      await Promise.all([watching, writing]);
    },
  },
];
