// Inputs that are nearly right, at every edge where a client's bytes are read. The seed is printed; TEST_SEED repeats a run, FUZZ_CASES makes it longer. By
// night in parts, each with a seed of its own: `tools/nightly-runs.ts`.

import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { connect as connectTls } from "node:tls";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import { decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";
import { YamlError } from "@postern/apimachinery/yaml/yaml-error";
import { readEncodedCertificateRequest } from "@postern/apiserver/x509/certificate-request";
import { DerError } from "@postern/apiserver/x509/der";
import { decodePem, encodePem } from "@postern/apiserver/x509/pem";
import { definitionsFromCrd } from "@postern/kubernetes/custom-resources/definition-from-crd";
import {
  definitionManifest,
  definitionVersion,
} from "@postern/kubernetes/custom-resources/testing/definition-manifest";
import {
  CertificateRequestError,
  createCertificateRequest,
  parseCertificateRequest,
} from "@postern/platform/foundation/pki/certificate-request";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AttackedServer, KEYS, startAttackedServer } from "./testing/attacked-server.ts";
import { anyValue, type Chance, createChance, mutate, mutateBytes } from "./testing/mutations.ts";
import { costOf } from "./testing/processor-time.ts";

const SEED = Number(process.env["TEST_SEED"]);
const CASES = Number(process.env["FUZZ_CASES"] ?? 100);
/** For one small request, of the server's thread: what loops or backtracks takes more. */
const AT_MOST_MS = 500;
/** Connections that wait for their end. */
const AT_ONCE = 20;

let server: AttackedServer;
beforeAll(async () => {
  // A frame that ends its session leaves a connection behind that is silent from then on.
  server = await startAttackedServer(["--stranger-timeout-seconds", "2"]);
});
afterAll(() => server[Symbol.asyncDispose]());

/** Texts of kube-apiserver that are alike: an unknown path is no Status, and a field that a patch makes up is a 500. */
const UPSTREAM_TEXTS = ["404 page not found", "failed to create typed patch object"];

type Call = { readonly method: string; readonly path: string; readonly type?: string; readonly body?: string };

const SECRETS = "/api/v1/namespaces/default/secrets";
const OBJECTS: readonly (readonly [path: string, object: object])[] = [
  [SECRETS, { apiVersion: "v1", kind: "Secret", metadata: { name: "fuzz", labels: { a: "b" } }, data: { a: "YQ==" } }],
  [KEYS, { metadata: { name: "fuzz" }, spec: { user: "good", ttl: 60, scope: { projects: [{ project: "a" }] } } }],
  [
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    { metadata: { name: "fuzz" }, rules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }] },
  ],
  [
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    { spec: { resourceAttributes: { verb: "get", resource: "pods", labelSelector: { rawSelector: "a=b" } } } },
  ],
];
const PATCHES: readonly (readonly [type: string, body: unknown])[] = [
  [
    "application/json-patch+json",
    [
      { op: "replace", path: "/data/a", value: "Yw==" },
      { op: "move", from: "/data/a", path: "/data/b" },
    ],
  ],
  ["application/merge-patch+json", { data: { a: null, b: "c" }, metadata: { labels: { a: null } } }],
  [
    "application/strategic-merge-patch+json",
    { metadata: { finalizers: ["a.b/c"], $retainKeys: ["name"] }, data: { $patch: "replace" } },
  ],
  [
    "application/apply-patch+yaml",
    { apiVersion: "v1", kind: "Secret", metadata: { name: "fuzz" }, data: { a: "eg==" } },
  ],
];
const YAML = `apiVersion: v1\nkind: Secret\nmetadata: &m\n  name: fuzz\n  labels: {a: b, "c": 'd'}\ndata:\n  a: |-\n    text\n  <<: *m\n`;
const SELECTORS = ["a=b,c!=d", "a in (b,c),!d,e notin (f)", "metadata.name=fuzz,metadata.namespace!=x", "a\\,b=c\\=d"];

function anyCall(chance: Chance): Call {
  const [path, object] = chance.pick(OBJECTS);
  const text = JSON.stringify(object);
  switch (chance.index(7)) {
    case 0:
      return { method: "POST", path: `${path}?dryRun=All`, body: mutate(text, chance) };
    case 1:
      return {
        method: "POST",
        path: `${path}?dryRun=All`,
        body: JSON.stringify({ ...object, ...Object(anyValue(chance)) }),
      };
    case 2:
      return {
        method: "POST",
        path: `${SECRETS}?dryRun=All`,
        type: "application/yaml",
        body: mutate(YAML, chance),
      };
    case 3: {
      const [type, body] = chance.pick(PATCHES);
      const query = `dryRun=All&fieldManager=fuzz${chance.index(2) === 0 ? "&force=true" : ""}`;
      return {
        method: "PATCH",
        path: `${SECRETS}/fuzz?${query}`,
        type,
        body: mutate(JSON.stringify(body), chance),
      };
    }
    case 4: {
      const selector = encodeURIComponent(wellFormed(mutate(chance.pick(SELECTORS), chance)));
      return {
        method: "GET",
        path: `${SECRETS}?${chance.pick(["labelSelector", "fieldSelector", "continue"])}=${selector}`,
      };
    }
    case 5: {
      const method = chance.pick(["GET", "DELETE", "PUT"]);
      const near = encodeURI(wellFormed(mutate(`${path}/fuzz?dryRun=All`, chance))).replace(/^\/*/, "/");
      // Without it, an administrator may really delete all access keys, the one of the following requests among them.
      const isDry = /^[^?#]*\?dryRun=All$/.test(near);
      return { method: method === "DELETE" && !isDry ? "GET" : method, path: near, body: "{}" };
    }
    default:
      return {
        method: "POST",
        path: `${path}?dryRun=All&${mutate("fieldValidation=Strict&pretty=true", chance).replaceAll(/[^!-~]/g, "")}`,
        body: text,
      };
  }
}

describe(`seed ${SEED}`, () => {
  it(`requests with bodies, patches, selectors and paths that are nearly right are answered with a Status, and soon (${CASES} of them)`, async () => {
    await server.send(SECRETS, { key: server.admin, body: OBJECTS[0]?.[1] ?? {} });
    const faults: string[] = [];
    for (let at = 0; at < CASES; at++) {
      const call = anyCall(createChance(SEED + at));
      const { ms, fault } = await answerTo(call);
      if (fault !== undefined || ms > AT_MOST_MS)
        faults.push(
          `TEST_SEED=${SEED + at} FUZZ_CASES=1: ${JSON.stringify(call).slice(0, 400)}: ${fault ?? `${Math.round(ms)} ms`}`,
        );
    }
    expect(faults.join("\n")).toBe("");
    // With a key: a path that is nearly right may have deleted the roles of those who have none.
    expect((await server.send("/livez", { key: server.admin })).status).toBe(200);
  });

  async function answerTo({ method, path, type = "application/json", body }: Call) {
    const { ms, value } = await costOf(server.process.pid, () =>
      server
        .send(path, {
          key: server.admin,
          method,
          headers: { "content-type": type },
          ...(body === undefined ? {} : { body }),
        })
        .catch((error: Error) => ({ status: 0, text: error.message, body: undefined })),
    );
    const { status, text, body: answer } = value;
    // Node's client refuses some paths by itself.
    if (status === 0 && /unescaped|Invalid URL/.test(text)) return { ms, fault: undefined };
    const isStatus =
      status < 400 || (answer?.kind === "Status" && answer.status === "Failure" && answer.code === status);
    if (UPSTREAM_TEXTS.some((known) => text.includes(known))) return { ms, fault: undefined };
    const wrong = status === 0 || status >= 500 || !isStatus || answer?.polluted !== undefined;
    return { ms, fault: wrong ? `${status} ${text.slice(0, 200)}` : undefined };
  }

  it("frames of HTTP/2 that are nearly right end their own connection, and no other", async () => {
    const { hostname, port } = new URL(server.url);
    let next = 0;
    const sendSome = async (): Promise<void> => {
      while (next < CASES / 5) {
        const chance = createChance(SEED + next++);
        const socket = connectTls({ host: hostname, port: Number(port), ca: server.ca, ALPNProtocols: ["h2"] });
        socket.on("error", () => undefined).resume();
        await once(socket, "secureConnect");
        const closed = once(socket, "close");
        socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        for (let left = chance.index(20); left >= 0 && !socket.destroyed; left--) socket.write(anyFrame(chance));
        socket.end();
        await closed;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, sendSome));
    // With a key: a path that is nearly right may have deleted the roles of those who have none.
    expect((await server.send("/livez", { key: server.admin })).status).toBe(200);
  });

  function anyFrame(chance: Chance): Buffer {
    const block = Buffer.from([0x82, 0x84, 0x87, 0x41, 1, 0x61, 0x40, 1, 0x78, 1, 0x79]);
    const payload = chance.pick([
      block,
      Buffer.alloc(0),
      Buffer.alloc(4),
      Buffer.alloc(8, 1),
      Buffer.alloc(chance.index(300), chance.index(256)),
    ]);
    const head = Buffer.alloc(9);
    head.writeUIntBE(chance.index(20) === 0 ? chance.index(2 ** 24) : payload.length, 0, 3);
    head.writeUInt8(chance.index(12), 3);
    head.writeUInt8(chance.pick([0, 1, 4, 5, 8, 0x25, 0xff]), 4);
    head.writeUInt32BE(chance.pick([0, 1, 1, 3, 5, 2, 0x7fffffff]), 5);
    const frame = Buffer.concat([head, payload]);
    return chance.index(4) === 0 ? mutateBytes(frame, chance) : frame;
  }

  it("certificate requests whose DER is nearly right are read or refused", () => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const pem = createCertificateRequest(privateKey, { commonName: "a", organizations: ["b"] }, publicKey);
    const der = decodePem("CERTIFICATE REQUEST", pem) ?? Buffer.alloc(0);
    for (let at = 0; at < 10 * CASES; at++) {
      const changed = encodePem("CERTIFICATE REQUEST", mutateBytes(der, createChance(SEED + at)));
      const text = at % 5 === 0 ? mutate(changed, createChance(SEED + at)) : changed;
      refusesOnlyBy([CertificateRequestError], () => parseCertificateRequest(text), at);
      refusesOnlyBy([DerError], () => readEncodedCertificateRequest(Buffer.from(text).toString("base64")), at);
    }
  });

  it("expressions in definitions that are nearly right are compiled or refused", () => {
    const rules = [
      "self.a.all(x, x.startsWith('b') && size(x) < 10) || has(self.b)",
      "self.a.map(x, x + 'c').exists_one(y, y.matches('^[a-z]+$')) ? true : self.b > duration('1h')",
      "!(self.b in ['c', \"d\"]) && optional.of(self.b).orValue('x') == r'\\d' + b'\\x00'.size()",
    ];
    for (let at = 0; at < CASES; at++) {
      const rule = mutate(createChance(SEED + at).pick(rules), createChance(SEED + at));
      refusesOnlyBy([ApiError], () => definitionsFromCrd(definition(rule)), at);
    }
  });

  it("YAML that is nearly right is read or refused", () => {
    for (let at = 0; at < 5 * CASES; at++) {
      refusesOnlyBy([YamlError], () => decodeYaml(mutate(YAML, createChance(SEED + at))), at);
    }
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });

  function refusesOnlyBy(refusals: readonly (new (...args: any[]) => Error)[], read: () => unknown, at: number): void {
    try {
      read();
    } catch (error) {
      if (!refusals.some((refusal) => error instanceof refusal)) {
        throw new Error(`TEST_SEED=${SEED + at} FUZZ_CASES=1`, { cause: error });
      }
    }
  }
});

/** Halves of pairs have no place in a URL. */
const wellFormed = (text: string): string => Buffer.from(text).toString();

const definition = (rule: string): JsonObject =>
  definitionManifest(
    { group: "example.com", kind: "Fuzz", plural: "fuzzes" },
    definitionVersion("v1", {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: {
            a: { type: "array", maxItems: 10, items: { type: "string", maxLength: 10 } },
            b: { type: "string", maxLength: 10 },
          },
          "x-kubernetes-validations": [{ rule }],
        },
      },
    }),
  );
