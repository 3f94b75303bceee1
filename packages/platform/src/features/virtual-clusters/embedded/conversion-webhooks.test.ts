// Texts are those of kube-apiserver 1.35.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { createEmbeddedHost, type EmbeddedHost } from "./testing/embedded-host.ts";
import { converting, startWebhookServer, type WebhookServer } from "./testing/webhook-server.ts";

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const at = (version: string, name = "") =>
  `/apis/example.com/${version}/namespaces/default/hosts${name === "" ? "" : `/${name}`}`;
const FAILED = "conversion webhook for example.com/v1, Kind=Host ";

const text = { type: "string" };
const objectOf = (properties: object) => ({ type: "object", properties });
const version = (name: string, spec: object, more: object = {}) => ({
  name,
  served: true,
  storage: name === "v1",
  subresources: { status: {} },
  schema: { openAPIV3Schema: objectOf({ spec: objectOf(spec), status: objectOf({ phase: text }) }) },
  ...more,
});
const VERSIONS = [
  version("v1", { address: text, kept: { ...text, default: "yes" } }),
  version("v2", { host: text, port: text, kept: text }, { selectableFields: [{ jsonPath: ".spec.host" }] }),
  version("v3", { host: text, port: text, kept: text }),
];
const crd = (conversion: object, versions: object[] = VERSIONS) => ({
  metadata: { name: "hosts.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "hosts", kind: "Host" },
    versions,
    conversion: { strategy: "Webhook", webhook: { conversionReviewVersions: ["v1"], ...conversion } },
  },
});

/** `address` of v1 is `host` and `port` of the others. */
function convert({ spec = {}, ...object }: any, apiVersion: string): any {
  const { address, host, port, ...rest } = spec;
  const [of, to] = [object.apiVersion, apiVersion].map((each) => each.split("/")[1]);
  if (of !== "v1" && to !== "v1") return { ...object, apiVersion, spec };
  if (to === "v1") return { ...object, apiVersion, spec: { ...rest, address: `${host}:${port}` } };
  const [first, second] = (address ?? "").split(":");
  return { ...object, apiVersion, spec: { ...rest, host: first, port: second } };
}

let host: EmbeddedHost;
let server: WebhookServer;
const url = (path = "/convert") => ({
  clientConfig: { url: `${server.url}${path}`, caBundle: server.caBundle },
});
beforeAll(async () => {
  host = await createEmbeddedHost();
  server = await startWebhookServer(["converter.default.svc"]);
  await host.setUp("one");
});
beforeEach(async () => {
  // All cases use one definition, and its controller works on it 100 times a second at most: each case has a second of its own.
  host.moveTime(1_000);
  server.raw.set("/convert", converting(convert));
  await define(url());
});
afterEach(async () => {
  await send("DELETE", `${CRDS}/hosts.example.com`);
  await vi.waitFor(async () => {
    await host.settled("one");
    expect((await refusal(send("GET", `${CRDS}/hosts.example.com`))).code).toBe(404);
  });
  server.asked.length = 0;
  server.raw.clear();
});
afterAll(async () => {
  expect(host.errors).toEqual([]);
  await host[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

async function send(method: string, path: string, sent?: object, type = "application/json"): Promise<any> {
  const { status, body } = await host.request("one", {
    method,
    url: path,
    ...(sent === undefined ? {} : { body: sent, headers: { "content-type": type } }),
  });
  // Of a path that is not served.
  if (status >= 400) throw new Error(`${method} ${path}: ${status} ${body}`);
  return body;
}
async function define(conversion: object, versions?: object[]): Promise<any> {
  const wanted = crd(conversion, versions);
  const before = await send("GET", `${CRDS}/hosts.example.com`).catch(() => undefined);
  const made =
    before === undefined
      ? await send("POST", CRDS, wanted)
      : await send("PUT", `${CRDS}/hosts.example.com`, { ...before, spec: wanted.spec });
  await host.settled("one");
  return made;
}
const create = (of: string, name: string, spec: object, more: object = {}) =>
  send("POST", at(of), { metadata: { name, ...more }, spec });
const refusal = async (work: Promise<unknown>) =>
  await work.then(
    () => expect.unreachable("it was allowed"),
    (error) => ({ code: error.code, reason: error.reason, message: error.message }),
  );
const recordOf = async (name: string): Promise<any> => {
  const { entries } = await host.storage.list("/");
  const found = entries.find(({ key }) => key.endsWith(`/hosts/default/${name}`)) ?? expect.unreachable();
  return JSON.parse(Buffer.from(found.value).toString());
};
const questions = () => server.asked.map(({ review }) => review.request);

describe("a conversion webhook", () => {
  it("is asked with all of upstream's fields, once for each object and version", async () => {
    const made = await create("v1", "a", { address: "x:80" });
    expect(server.asked).toEqual([]);
    expect((await send("GET", at("v2", "a"))).spec).toEqual({ host: "x", port: "80", kept: "yes" });
    const [{ review } = expect.unreachable()] = server.asked;
    const { resourceVersion: _, ...metadata } = made.metadata;
    expect(review).toEqual({
      kind: "ConversionReview",
      apiVersion: "apiextensions.k8s.io/v1",
      request: {
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        desiredAPIVersion: "example.com/v2",
        objects: [{ apiVersion: "example.com/v1", kind: "Host", metadata, spec: { address: "x:80", kept: "yes" } }],
      },
    });
    await send("GET", at("v2", "a"));
    expect((await send("GET", at("v2"))).items.map(({ spec }: any) => spec.host)).toEqual(["x"]);
    await send("GET", at("v1", "a"));
    expect(server.asked.length).toBe(1);
  });

  it("reads and writes at every version, and stores one", async () => {
    const made = await create("v2", "a", { host: "x", port: "80", lost: 1 });
    expect(made).toMatchObject({ apiVersion: "example.com/v2", spec: { host: "x", port: "80" } });
    expect(await recordOf("a")).toMatchObject({ apiVersion: "example.com/v1", spec: { address: "x:80" } });
    const put = await send("PUT", at("v3", "a"), {
      ...(await send("GET", at("v3", "a"))),
      spec: { host: "y", port: "81" },
    });
    expect(put.spec).toEqual({ host: "y", port: "81", kept: "yes" });
    expect((await send("GET", at("v1", "a"))).spec).toEqual({ address: "y:81", kept: "yes" });
    await send("PATCH", at("v2", "a"), { spec: { port: "82" } }, "application/merge-patch+json");
    const operations = [{ op: "replace", path: "/spec/host", value: "z" }];
    await send("PATCH", at("v2", "a"), operations as never, "application/json-patch+json");
    expect(await recordOf("a")).toMatchObject({ spec: { address: "z:82", kept: "yes" } });
    const status = await send(
      "PATCH",
      `${at("v2", "a")}/status`,
      { status: { phase: "Up" } },
      "application/merge-patch+json",
    );
    expect(status).toMatchObject({ apiVersion: "example.com/v2", status: { phase: "Up" }, spec: { host: "z" } });
    const { metadata } = await send("GET", at("v3", "a"));
    expect(metadata.generation).toBe(4);
    const gone = await send("DELETE", at("v3", "a"));
    expect(gone.status).toBe("Success");
    expect((await refusal(send("GET", at("v1", "a")))).code).toBe(404);
  });

  it("serves server-side apply at another version than that of the store", async () => {
    const apply = (name: string, spec: object, manager: string, force = "") =>
      send(
        "PATCH",
        `${at("v2", name)}?fieldManager=${manager}${force}`,
        { apiVersion: "example.com/v2", kind: "Host", metadata: { name }, spec },
        "application/apply-patch+yaml",
      );
    await apply("a", { host: "x", port: "80" }, "one");
    expect(await recordOf("a")).toMatchObject({ spec: { address: "x:80" } });
    expect(await refusal(apply("a", { port: "81" }, "two"))).toMatchObject({ code: 409, reason: "Conflict" });
    const forced = await apply("a", { port: "81" }, "two", "&force=true");
    expect(forced.spec).toMatchObject({ host: "x", port: "81" });
    expect(forced.metadata.managedFields.map(({ manager, apiVersion }: any) => [manager, apiVersion])).toEqual([
      ["one", "example.com/v2"],
      ["two", "example.com/v2"],
    ]);
  });

  it("changes nothing where nothing has changed", async () => {
    const made = await create("v2", "a", { host: "x", port: "80", kept: "yes" });
    const same = await send("PATCH", at("v2", "a"), { spec: { host: "x" } }, "application/merge-patch+json");
    expect(same.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
  });

  it("is shown to watches, lists and selectors in the version that they ask for", async () => {
    await create("v1", "a", { address: "x:80" });
    await create("v1", "b", { address: "y:80" });
    const events = host.watch(
      "one",
      `${at("v2")}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
    );
    const next = async () => {
      const { type, object } = (await events.next()).value;
      return [type, object.apiVersion, object.spec?.host, object.metadata.annotations?.["k8s.io/initial-events-end"]];
    };
    expect(await next()).toEqual(["ADDED", "example.com/v2", "x", undefined]);
    expect(await next()).toEqual(["ADDED", "example.com/v2", "y", undefined]);
    expect(await next()).toEqual(["BOOKMARK", "example.com/v2", undefined, "true"]);
    await send("PATCH", at("v1", "a"), { spec: { address: "z:80" } }, "application/merge-patch+json");
    expect(await next()).toEqual(["MODIFIED", "example.com/v2", "z", undefined]);
    await send("DELETE", at("v1", "a"));
    expect(await next()).toEqual(["DELETED", "example.com/v2", "z", undefined]);
    await events.return(undefined);
    const selected = await send("GET", `${at("v2")}?fieldSelector=spec.host%3Dy`);
    expect(selected.items.map(({ metadata }: any) => metadata.name)).toEqual(["b"]);
    const table = await host.request("one", {
      url: at("v2"),
      headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
    });
    expect(table.body.rows.length).toBe(1);
  });

  it("is asked about the objects of a list in few reviews, and pages through them", async () => {
    for (let index = 0; index < 130; index++) await create("v1", `n${1000 + index}`, { address: `h${index}:1` });
    server.asked.length = 0;
    const first = await send("GET", `${at("v2")}?limit=120`);
    expect(first.items.length).toBe(120);
    const rest = await send("GET", `${at("v2")}?limit=120&continue=${first.metadata.continue}`);
    expect(rest.items.map(({ spec }: any) => spec.host)).toEqual(Array.from({ length: 10 }, (_, n) => `h${120 + n}`));
    expect(questions().map(({ objects }) => objects.length)).toEqual([100, 20, 10]);
    await send("DELETE", at("v2"));
    expect((await send("GET", at("v1"))).items).toEqual([]);
  });

  it("reads what was stored in an old version when the stored version has changed", async () => {
    await create("v1", "old", { address: "x:80" });
    const stored = await define(
      url(),
      VERSIONS.map((each) => ({ ...each, storage: each.name === "v2" })),
    );
    expect(stored.status.storedVersions).toEqual(["v1", "v2"]);
    await create("v1", "new", { address: "y:80" });
    expect(await recordOf("new")).toMatchObject({ apiVersion: "example.com/v2", spec: { host: "y", port: "80" } });
    expect((await send("GET", at("v3", "old"))).spec).toEqual({ host: "x", port: "80", kept: "yes" });
    // As a migration does it: a write that changes nothing brings the record to the stored version.
    await send("PUT", at("v2", "old"), await send("GET", at("v2", "old")));
    expect(await recordOf("old")).toMatchObject({ apiVersion: "example.com/v2", spec: { host: "x" } });
  });

  it("may change only labels and annotations in the metadata", async () => {
    server.raw.set(
      "/convert",
      converting((object, to) => {
        const converted = convert(object, to);
        const { metadata } = converted;
        return {
          ...converted,
          metadata: { ...metadata, labels: { of: to.split("/")[1] }, finalizers: ["example.com/x"], generation: 77 },
        };
      }),
    );
    const made = await create("v1", "a", { address: "x:80" }, { labels: { of: "me" }, annotations: { note: "1" } });
    const { metadata } = await send("GET", at("v2", "a"));
    const { labels: _labels, ...kept } = made.metadata;
    expect(metadata).toEqual({ ...kept, labels: { of: "v2" } });
    const labelled = await send("GET", `${at("v2")}?labelSelector=of%3Dv2`);
    expect(labelled.items.length).toBe(1);
  });

  it("is found through a Service, and shows the certificate of its name", async () => {
    const service = { name: "converter", namespace: "default" };
    const clientConfig = { service: { ...service, path: "/convert", port: server.port }, caBundle: server.caBundle };
    await define({ clientConfig });
    await create("v1", "a", { address: "x:80" });
    expect(await refusal(send("GET", at("v2", "a")))).toEqual({
      code: 500,
      reason: "",
      message: `${FAILED}failed: Post "https://converter.default.svc:${server.port}/convert?timeout=30s": service "converter" not found`,
    });
    const spec = { ports: [{ port: server.port }] };
    await send("POST", "/api/v1/namespaces/default/services", { metadata: { name: "converter" }, spec });
    expect((await refusal(send("GET", at("v2", "a")))).message).toMatch(
      /no endpoints available for service "converter"/,
    );
    // No loopback address may be that of a Service, so that a name is what tests have.
    const found = { type: "ExternalName", externalName: "localhost", ports: null, clusterIP: null, clusterIPs: null };
    await send(
      "PATCH",
      "/api/v1/namespaces/default/services/converter",
      { spec: found },
      "application/merge-patch+json",
    );
    expect((await send("GET", at("v2", "a"))).spec.host).toBe("x");
    await send("DELETE", "/api/v1/namespaces/default/services/converter");
  });

  it("receives v1beta1 reviews where it supports no other", async () => {
    const conversionReviewVersions = ["v9", "v1beta1"];
    await define({ ...url(), conversionReviewVersions });
    await create("v1", "a", { address: "x:80" });
    expect((await send("GET", at("v2", "a"))).spec.host).toBe("x");
    expect(server.asked[0]?.review.apiVersion).toBe("apiextensions.k8s.io/v1beta1");
  });

  it("is asked for admission webhooks that are written for another version", async () => {
    await send("POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", {
      metadata: { name: "a" },
      webhooks: [
        {
          name: "a.example.com",
          clientConfig: { url: `${server.url}/admit`, caBundle: server.caBundle },
          rules: [{ apiGroups: ["example.com"], apiVersions: ["v2"], operations: ["CREATE"], resources: ["hosts"] }],
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
        },
      ],
    });
    const patch = [{ op: "replace", path: "/spec/port", value: "99" }];
    server.answers.set("/admit", () => ({
      allowed: true,
      patchType: "JSONPatch",
      patch: Buffer.from(JSON.stringify(patch)).toString("base64"),
    }));
    const made = await create("v1", "a", { address: "x:80" });
    await send("DELETE", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations");
    expect(made.spec).toEqual({ address: "x:99", kept: "yes" });
    const [admitted] = server.asked.filter(({ path }) => path === "/admit");
    expect(admitted?.review.request.object).toMatchObject({ apiVersion: "example.com/v2", spec: { host: "x" } });
  });

  it("does not block the stored version or the deletion of a definition", async () => {
    await define({ clientConfig: { url: "https://127.0.0.1:1/" } });
    await create("v1", "a", { address: "x:80" });
    expect((await refusal(create("v2", "b", { host: "y" }))).message).toBe(
      'conversion webhook for example.com/v2, Kind=Host failed: Post "https://127.0.0.1:1/?timeout=30s": connection refused',
    );
    expect((await refusal(send("GET", at("v2")))).code).toBe(500);
    expect((await send("GET", at("v1"))).items.length).toBe(1);
    // The definition is deleted behind this test.
  });

  it("ends watches with its error", async () => {
    await create("v1", "a", { address: "x:80" });
    const { metadata } = await send("GET", at("v2"));
    const events = host.watch("one", `${at("v2")}?watch=true&resourceVersion=${metadata.resourceVersion}`);
    server.raw.set("/convert", (_request, response) => void response.writeHead(503).end());
    const first = events.next();
    await send("PATCH", at("v1", "a"), { spec: { address: "y:80" } }, "application/merge-patch+json");
    expect((await first).value).toMatchObject({
      type: "ERROR",
      object: { code: 500, message: `${FAILED}failed: the server is currently unable to handle the request` },
    });
    expect((await events.next()).done).toBe(true);
  });
});

describe("a watch that begins with what a webhook has to convert", () => {
  const STATE = `${at("v2")}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`;

  it("ends with the error of the webhook", async () => {
    await create("v1", "a", { address: "x:80" });
    server.raw.set("/convert", (_request, response) => void response.writeHead(503).end());
    const events = host.watch("one", STATE);
    expect((await events.next()).value).toMatchObject({ type: "ERROR", object: { code: 500 } });
    expect((await events.next()).done).toBe(true);
  });

  it("shows what changes during the conversion after what was converted, and before its end", async () => {
    await create("v1", "a", { address: "x:80" });
    const held: (() => void)[] = [];
    const answer = converting(convert);
    server.raw.set("/convert", (request, response, review) => void held.push(() => answer(request, response, review)));
    const events = host.watch("one", STATE);
    const next = async () => {
      const { type, object } = (await events.next()).value;
      return [type, object.spec?.host];
    };
    const first = next();
    await vi.waitFor(() => expect(held.length).toBe(1));
    await send("PATCH", at("v1", "a"), { spec: { address: "y:80" } }, "application/merge-patch+json");
    server.raw.set("/convert", answer);
    for (const go of held) go();
    expect(await first).toEqual(["ADDED", "x"]);
    expect([await next(), await next()]).toEqual([
      ["MODIFIED", "y"],
      ["BOOKMARK", undefined],
    ]);
    await events.return(undefined);
  });
});

describe("an answer of a conversion webhook", () => {
  const answerOf = (change: (answer: any) => any) => (_request: unknown, response: any, review: any) => {
    const { uid, objects, desiredAPIVersion } = review.request;
    const convertedObjects = objects.map((object: any) => convert(object, desiredAPIVersion));
    const { apiVersion, kind } = review;
    const answer = { apiVersion, kind, response: { uid, result: { status: "Success" }, convertedObjects } };
    response.end(JSON.stringify(change(answer)));
  };
  const withObject = (change: (object: any) => any) =>
    answerOf(({ response, ...rest }) => ({
      ...rest,
      response: { ...response, convertedObjects: response.convertedObjects.map(change) },
    }));
  const withResponse = (more: object) =>
    answerOf((answer) => ({ ...answer, response: { ...answer.response, ...more } }));
  const withMetadata = (more: object) =>
    withObject((object) => ({ ...object, metadata: { ...object.metadata, ...more } }));

  it.each([
    ["without a response", answerOf(({ response: _, ...rest }) => rest), "failed: no response provided"],
    [
      "of another kind",
      answerOf((answer) => ({ ...answer, kind: "Other" })),
      "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1, Kind=Other",
    ],
    ["to another question", withResponse({ uid: "x" }), /^failed: expected response\.uid="[0-9a-f-]{36}", got "x"$/],
    ["that says why it fails", withResponse({ result: { status: "Failure", message: "too old" } }), "failed: too old"],
    [
      "that fails without a reason",
      withResponse({ result: {} }),
      "failed: response.result.status was '', not 'Success'",
    ],
    ["without objects", withResponse({ convertedObjects: [] }), "returned 0 objects, expected 1"],
    [
      "of another version",
      withObject((object) => ({ ...object, apiVersion: "example.com/v9" })),
      "returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v9)",
    ],
    [
      "of another object's kind",
      withObject((object) => ({ ...object, kind: "Other" })),
      "returned invalid object at index 0: invalid kind (expected Host, received Other)",
    ],
    ["of another name", withMetadata({ name: "b" }), "returned invalid object: must have the same name: a != b"],
    [
      "of another namespace",
      withMetadata({ namespace: "b" }),
      "returned invalid object: must have the same namespace: default != b",
    ],
    [
      "of another uid",
      withMetadata({ uid: "b" }),
      /^returned invalid object: must have the same UID: [0-9a-f-]{36} != b$/,
    ],
    [
      "with labels that are none",
      withMetadata({ labels: { a: 1 } }),
      "returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object",
    ],
    [
      "with labels of another form",
      withMetadata({ labels: [] }),
      "returned invalid metadata: invalid metadata.labels of type []interface {} in converted object",
    ],
    [
      "with labels that are not valid",
      withMetadata({ labels: { "a b": "" } }),
      /^returned invalid metadata: metadata\.labels: Invalid value: "a b": name part must consist of/,
    ],
  ])("%s is refused", async (_what, answer, message) => {
    server.raw.set("/convert", answer);
    await create("v1", "a", { address: "x:80" });
    const refused = await refusal(send("GET", at("v2", "a")));
    expect([refused.code, refused.reason]).toEqual([500, ""]);
    const why = refused.message.slice(FAILED.length);
    expect(refused.message.startsWith(FAILED), refused.message).toBe(true);
    if (typeof message === "string") expect(why).toBe(message);
    else expect(why).toMatch(message);
  });

  it("is quoted in part where it is long", async () => {
    await create("v1", "a", { address: "x:80" });
    const long = "\u0001x".repeat(100_000);
    const answers = [
      withObject((object) => ({ ...object, apiVersion: long })),
      withObject((object) => ({ ...object, kind: long })),
      withMetadata({ name: long }),
      withResponse({ uid: long }),
      withResponse({ result: { status: long } }),
      withResponse({ result: { message: long } }),
      answerOf((answer) => ({ ...answer, kind: long })),
    ];
    for (const answer of answers) {
      server.raw.set("/convert", answer);
      const { message } = await refusal(send("GET", at("v2", "a")));
      expect([message.startsWith(FAILED), message.length < FAILED.length + 4_200]).toEqual([true, true]);
    }
  });

  it("that cannot be read, or is none, is refused as well", async () => {
    await create("v1", "a", { address: "x:80" });
    for (const body of ["", "[]", "{", `{"a":${"[".repeat(2_000)}`]) {
      server.raw.set("/convert", (_request, response) => void response.end(body));
      expect((await refusal(send("GET", at("v2", "a")))).message).toMatch(
        /^conversion webhook for .* failed: the answer /,
      );
    }
  });

  it("is pruned by the schema of its version", async () => {
    server.raw.set(
      "/convert",
      withObject((object) => ({ ...object, spec: { ...object.spec, unknown: { a: 1 } }, extra: true })),
    );
    await create("v1", "a", { address: "x:80" });
    const read = await send("GET", at("v2", "a"));
    expect(Object.keys(read)).toEqual(["apiVersion", "kind", "metadata", "spec"]);
    expect(read.spec).toEqual({ host: "x", port: "80", kept: "yes" });
  });
});
