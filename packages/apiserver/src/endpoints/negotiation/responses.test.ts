import { gunzipSync } from "node:zlib";
import { ApiError, conflictError, tooManyRequestsError } from "@postern/apimachinery/meta/api-error";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { CachedObject, encodeStoredValue } from "../../cache/cached-object.ts";
import { type ByteSink, JoinedBody } from "../../transport/api-response.ts";
import { keys, widgets } from "../discovery/testing/golden-resources.ts";
import { bodyOf, jsonOf, requestContext, textOf } from "../discovery/testing/request-context.ts";
import { errorResponse } from "./error-response.ts";
import { listResponse } from "./list-response.ts";
import { negotiateOutput } from "./negotiate-output.ts";
import { objectResponse as respondWith, statusResponse } from "./object-response.ts";

const PATH = "/apis/management.example.com/v1/ownedaccesskeys";

const keyNamed = (name: string, revision: number, spec: object = { user: "u0", ttl: 0 }): CachedObject =>
  CachedObject.fromEntry({
    key: name,
    revision,
    value: encodeStoredValue({
      apiVersion: "management.example.com/v1",
      kind: "OwnedAccessKey",
      metadata: { name, uid: `uid-${name}`, creationTimestamp: "2026-01-02T15:03:05Z", labels: { p: "even" } },
      spec: { ...spec },
    }),
  });

const l0 = keyNamed("l0", 7);
const asking = (accept: string, query = "", method = "GET") =>
  requestContext(`${PATH}${query}`, { method, headers: { accept } });
const objectResponse = (
  context: ReturnType<typeof requestContext>,
  code: number,
  value: Parameters<typeof respondWith>[2],
  resource: Parameters<typeof respondWith>[3],
) => respondWith(context, code, value, resource, negotiateOutput(context.request, keys));
const table = (version = "v1") => `application/json;as=Table;v=${version};g=meta.k8s.io`;
const partial = (kind: string) => `application/json;as=${kind};v=v1;g=meta.k8s.io`;

describe("an object", () => {
  it("is answered with its kept bytes and a newline", async () => {
    const response = await objectResponse(asking(""), 200, l0, keys);
    expect(response).toMatchObject({
      status: 200,
      headers: { "content-type": "application/json", "cache-control": "no-cache, private" },
    });
    expect(await textOf(response)).toBe(`${Buffer.from(l0.bytes)}\n`);
  });

  it("may still be a value, even one with a member called bytes", async () => {
    const value = { apiVersion: "v1", kind: "X", metadata: {}, bytes: "a" };
    expect(await textOf(await objectResponse(asking(""), 201, value, keys))).toBe(`${JSON.stringify(value)}\n`);
  });

  it("keeps integers beyond 2^53 in every encoding", async () => {
    const big = keyNamed("big", 1, { ttl: 9007199254740993n });
    for (const accept of ["", "application/json;pretty=1", "application/yaml", partial("PartialObjectMetadata")]) {
      const text = await textOf(await objectResponse(asking(accept), 200, big, keys));
      expect(text.includes("9007199254740993"), accept).toBe(!accept.includes("Partial"));
    }
  });

  it("is indented without a last newline when pretty, and YAML with sorted keys when asked for", async () => {
    const pretty = await textOf(await objectResponse(asking("application/json;pretty=1"), 200, l0, keys));
    expect(pretty).toBe(JSON.stringify(l0.decode(), null, 2));
    const response = await objectResponse(asking("application/yaml"), 200, l0, keys);
    expect(response.headers["content-type"]).toBe("application/yaml");
    const yaml = await textOf(response);
    expect(parse(yaml)).toEqual(l0.decode());
    expect(yaml).toMatch(/^apiVersion: management\.example\.com\/v1\nkind: OwnedAccessKey\nmetadata:\n/);
  });

  it("has no body for HEAD", async () => {
    const response = await objectResponse(asking("", "", "HEAD"), 200, l0, keys);
    expect([response.status, await textOf(response)]).toEqual([200, ""]);
  });

  it("is converted to its metadata", async () => {
    expect(await jsonOf(await objectResponse(asking(partial("PartialObjectMetadata")), 200, l0, keys))).toEqual({
      kind: "PartialObjectMetadata",
      apiVersion: "meta.k8s.io/v1",
      metadata: l0.decode().metadata,
    });
  });

  it("is not a list, which is a 500 without a reason", async () => {
    await expect(
      (async () => objectResponse(asking(partial("PartialObjectMetadataList")), 200, l0, keys))(),
    ).rejects.toMatchObject({
      code: 500,
      reason: "",
      message: "content is not a list",
    });
  });

  it.each([
    ["v1", "ConfigMap", "*core.ConfigMap"],
    ["apps/v1", "Deployment", "*apps.Deployment"],
    ["rbac.authorization.k8s.io/v1", "Role", "*rbac.Role"],
    ["coordination.k8s.io/v1", "Lease", "*coordination.Lease"],
    ["events.k8s.io/v1", "Event", "*core.Event"],
    [
      "admissionregistration.k8s.io/v1",
      "ValidatingAdmissionPolicy",
      "*admissionregistration.ValidatingAdmissionPolicy",
    ],
    ["autoscaling/v1", "Scale", "*autoscaling.Scale"],
  ])("is not a list, which is a 406 for built-in kinds: %s %s", async (apiVersion, kind, goType) => {
    const object = { apiVersion, kind, metadata: { name: "a" } };
    for (const version of ["v1", "v1beta1"]) {
      const accept = partial("PartialObjectMetadataList").replace("v=v1", `v=${version}`);
      await expect(
        (async () => objectResponse(asking(accept), 200, object, { strategicMergePatch: true }))(),
      ).rejects.toMatchObject({
        code: 406,
        reason: "NotAcceptable",
        message: `you requested PartialObjectMetadataList, but the requested object is not a list (${goType})`,
      });
    }
  });

  it("is compressed above 128 KiB for reads of clients that name gzip", async () => {
    const large = keyNamed("large", 1, { text: "x".repeat(200_000) });
    const get = (method: string, encoding: string) =>
      objectResponse(requestContext(PATH, { method, headers: { "accept-encoding": encoding } }), 200, large, keys);
    const compressed = await get("GET", "deflate, gzip");
    expect(compressed.headers).toMatchObject({ "content-encoding": "gzip", vary: "Accept-Encoding" });
    expect(gunzipSync(await bodyOf(compressed)).toString()).toBe(`${Buffer.from(large.bytes)}\n`);
    const plain = await get("GET", "*");
    expect(plain.headers).not.toHaveProperty("content-encoding");
    // Its readers share its bytes.
    const { body } = plain;
    if (!(body instanceof JoinedBody)) expect.unreachable();
    expect(body.parts.map(({ buffer }) => buffer)).toContain(large.memory.buffer);
    expect(Buffer.from(body.bytes).toString()).toBe(`${Buffer.from(large.bytes)}\n`);
    expect(await bodyOf(await get("HEAD", "*"))).toHaveLength(0);
    expect((await get("POST", "gzip")).headers).not.toHaveProperty("content-encoding");
    const small = requestContext(PATH, { headers: { "accept-encoding": "gzip" } });
    expect((await objectResponse(small, 200, l0, keys)).headers).not.toHaveProperty("content-encoding");
  });
});

describe("a Status", () => {
  const deleted = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" } as const;

  it("is never converted", async () => {
    const context = asking(table());
    const output = negotiateOutput(context.request, keys);
    expect(await jsonOf(await statusResponse(context, 200, deleted, output))).toEqual(deleted);
    expect(await jsonOf(await objectResponse(context, 200, deleted, keys))).toEqual(deleted);
  });

  it("refuses in the client's encoding, and in JSON when there is none", async () => {
    const error = conflictError({ group: "g", resource: "r" }, "n", "stale");
    const yaml = errorResponse(asking("application/yaml").request, error);
    expect([yaml.status, yaml.headers["content-type"]]).toEqual([409, "application/yaml"]);
    expect(parse(await textOf(yaml))).toEqual(error.toStatus());
    expect(await jsonOf(errorResponse(asking("text/html").request, error))).toEqual(error.toStatus());
    expect(await jsonOf(errorResponse(asking(table()).request, error))).toEqual(error.toStatus());
  });

  it("includes when to retry", () => {
    const response = errorResponse(asking("").request, tooManyRequestsError("slow down", 3));
    expect(response.headers["retry-after"]).toBe("3");
  });
});

describe("a list", () => {
  const page = { items: [l0, keyNamed("l1", 8)], resourceVersion: "9", continue: "next", remainingItemCount: 5 };
  const empty = { items: [], resourceVersion: "9" };

  it("joins the kept bytes of its objects", async () => {
    const response = await listResponse(asking(""), page, keys);
    expect(await textOf(response)).toBe(
      `{"kind":"OwnedAccessKeyList","apiVersion":"management.example.com/v1","metadata":{"resourceVersion":"9","continue":"next","remainingItemCount":5},"items":[${page.items
        .map(({ bytes }) => Buffer.from(bytes))
        .join(",")}]}\n`,
    );
  });

  it.each([
    ["", "json"],
    ["application/json;pretty=1", "json"],
    ["application/yaml", "yaml"],
    [table(), "json"],
    [`${table()};pretty=1`, "json"],
    ["application/yaml;as=Table;v=v1;g=meta.k8s.io", "yaml"],
    [partial("PartialObjectMetadataList"), "json"],
  ])("has the same content in every form and encoding: %j", async (accept, format) => {
    for (const content of [page, empty]) {
      const text = await textOf(await listResponse(asking(accept), content, keys));
      const list = format === "yaml" ? parse(text) : JSON.parse(text);
      const elements = list.rows ?? list.items;
      expect(list.metadata).toMatchObject({ resourceVersion: "9" });
      expect(elements.map((element: any) => (element.object ?? element).metadata.name)).toEqual(
        content.items.map((item) => item.decode().metadata.name),
      );
      if (accept.includes("pretty")) expect(text).toBe(JSON.stringify(list, null, 2));
      if (format === "yaml") expect(Object.keys(list)).toEqual(Object.keys(list).sort());
    }
  });

  it("is not a single object", async () => {
    await expect(async () => listResponse(asking(partial("PartialObjectMetadata")), page, keys)).rejects.toMatchObject({
      code: 406,
      message:
        "you requested PartialObjectMetadata, but the requested object is a list (*unstructured.UnstructuredList)",
    });
  });

  it("is answered as a Table with the metadata of the list", async () => {
    const list = await jsonOf(await listResponse(asking(table("v1beta1")), page, keys));
    expect(list).toMatchObject({
      kind: "Table",
      apiVersion: "meta.k8s.io/v1beta1",
      metadata: { resourceVersion: "9", continue: "next", remainingItemCount: 5 },
    });
    expect(
      list.columnDefinitions.map(({ name, type, format, priority }: any) => [name, type, format, priority]),
    ).toEqual([
      ["Name", "string", "name", 0],
      ["User", "string", "", 0],
      ["Disabled", "boolean", "", 0],
      ["TTL", "integer", "", 1],
      ["Age", "date", "", 0],
    ]);
    expect(list.rows[0]).toEqual({
      cells: ["l0", "u0", null, 0, "60s"],
      object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1beta1", metadata: l0.decode().metadata },
    });
  });

  it("prints name and age of resources without columns of their own", async () => {
    const list = await jsonOf(await listResponse(asking(table()), page, widgets));
    expect(list.columnDefinitions.map(({ name }: any) => name)).toEqual(["Name", "Age"]);
    expect(list.rows[0].cells).toEqual(["l0", "60s"]);
  });

  it.each([
    ["?includeObject=None", null],
    ["?includeObject=Object", l0.decode()],
    ["?includeObject=Metadata", expect.objectContaining({ kind: "PartialObjectMetadata" })],
  ])("carries the contents of %s", async (query, object) => {
    const list = await jsonOf(await listResponse(asking(table(), query), page, keys));
    expect(list.rows[0].object).toEqual(object);
  });

  it("refuses an unknown includeObject", async () => {
    await expect(async () => listResponse(asking(table(), "?includeObject=Bogus"), page, keys)).rejects.toThrow(
      `Unable to convert to Table as requested: includeObject: Invalid value: "Bogus": must be 'Metadata', 'Object', 'None', or empty`,
    );
  });

  describe("of many objects", () => {
    const items = Array.from({ length: 1000 }, (_, i) => keyNamed(`k${i}`, i + 1, { text: "x".repeat(1000) }));
    const many = { items, resourceVersion: "1000" };

    it("goes out in parts of at most 256 kB, each once the one before is taken", async () => {
      const response = await listResponse(asking(""), many, keys);
      if (response.body.type !== "stream") throw new Error("not a stream");
      const chunks: Uint8Array[] = [];
      let waiting = 0;
      const sink: ByteSink = {
        bufferedBytes: 0,
        async write(chunk) {
          expect(++waiting).toBe(1);
          chunks.push(Buffer.from(chunk as Uint8Array));
          await new Promise((resolve) => setImmediate(resolve));
          waiting--;
          return true;
        },
      };
      await response.body.run(sink, new AbortController().signal);
      expect(chunks.length).toBeGreaterThan(4);
      expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThanOrEqual(257 * 1024);
      expect(JSON.parse(Buffer.concat(chunks).toString()).items).toHaveLength(1000);
    });

    it("is the same when compressed, in a Table and in YAML", async () => {
      const context = requestContext(PATH, { headers: { "accept-encoding": "gzip" } });
      const compressed = await listResponse(context, many, keys);
      expect(compressed.headers["content-encoding"]).toBe("gzip");
      expect(JSON.parse(gunzipSync(await bodyOf(compressed)).toString()).items).toHaveLength(1000);
      const rows = (await jsonOf(await listResponse(asking(table()), many, keys))).rows;
      expect(rows.map((row: any) => row.cells[0])).toEqual(items.map(({ key }) => key));
      expect(parse(await textOf(await listResponse(asking("application/yaml"), many, keys))).items).toHaveLength(1000);
    });

    it.each([
      ["cheap columns", Array.from({ length: 100 }, () => ".spec.user"), 200],
      ["columns that print the same text", Array.from({ length: 100 }, () => ".spec"), 20],
      ["columns that find nothing after much work", [`.spec.a[?(@${".".repeat(14)}x)]`], 20],
    ])("goes out as a Table with %s in parts of little work", async (_, paths, count) => {
      const deep = Array.from({ length: 24 }).reduce((b) => ({ b }), 1);
      const columns = paths.map((value, i) => ({ name: `C${i}`, type: "string" as const, value }));
      const few = Array.from({ length: count }, (_each, i) =>
        keyNamed(`k${i}`, i + 1, { user: "u", text: "x".repeat(1000), a: [deep] }),
      );
      const context = asking(table());
      const response = await listResponse(context, { items: few, resourceVersion: "9" }, { ...keys, columns });
      if (response.body.type !== "stream") throw new Error("not a stream");
      const parts: Buffer[] = [];
      const write: ByteSink["write"] = (part) => {
        parts.push(Buffer.from(part as Uint8Array));
        return true;
      };
      await response.body.run({ bufferedBytes: 0, write }, new AbortController().signal);
      expect(JSON.parse(Buffer.concat(parts).toString()).rows).toHaveLength(count);
      expect(parts.length).toBeGreaterThanOrEqual(count / 20);
      expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(256 * 1024);
    });

    it("stops when the client is gone, and is cut when the request is over", async () => {
      const run = async (write: ByteSink["write"], signal: AbortSignal) => {
        const { body } = await listResponse(asking(""), many, keys);
        if (body.type === "stream") await body.run({ bufferedBytes: 0, write }, signal);
      };
      let writes = 0;
      await run(() => ++writes < 2, new AbortController().signal);
      expect(writes).toBe(2);
      const controller = new AbortController();
      const abortLater = (): boolean => {
        controller.abort(new ApiError({ code: 504, message: "over" }));
        return true;
      };
      await expect(run(abortLater, controller.signal)).rejects.toThrow("over");
    });
  });
});
