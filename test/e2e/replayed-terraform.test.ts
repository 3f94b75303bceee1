// The requests that Terraform's kubernetes_manifest sends, one after the other and with their headers, to the management API and to an
// embedded virtual cluster: each answer is what the client goes on with.
// Source: terraform-provider-kubernetes/manifest/provider

import { describe, expect, it } from "vitest";
import {
  APPLY,
  expectStatus,
  listableResources,
  MERGE,
  OPENAPI_V2,
  REPLAY_TARGETS,
  useReplayServer,
} from "./testing/replayed-client.ts";

const { sendTo } = useReplayServer();

describe.each(REPLAY_TARGETS)(
  "in $where",
  ({ base, collection, kind, apiVersion, content, valueAt, valuePath, object }) => {
    describe("Terraform's kubernetes_manifest", () => {
      const send = sendTo(base, "HashiCorp/1.0 Terraform/1.11.4");
      const path = `${collection}/terraform`;
      const apply = (value: string, query = "", manager = "Terraform") =>
        send("PATCH", `${path}?fieldManager=${manager}&force=false${query}`, {
          type: APPLY,
          body: object("terraform", value),
        });

      it("finds the type of a resource in OpenAPI, and its path by discovery", async () => {
        const { definitions, paths } = await expectStatus(
          200,
          send("GET", "/openapi/v2?timeout=32s", { accept: "application/json" }),
        );
        const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
        const type: any = Object.values(definitions).find((definition: any) =>
          (definition["x-kubernetes-group-version-kind"] ?? []).some(
            (each: any) => each.group === group && each.version === version && each.kind === kind,
          ),
        );
        expect(type.properties).toMatchObject({ apiVersion: {}, kind: {}, metadata: {} });
        expect(Object.keys(paths)).toContain(collection.replace("/namespaces/default/", "/namespaces/{namespace}/"));
        expect((await send("GET", "/openapi/v2?timeout=32s", { accept: OPENAPI_V2 })).status).toBe(200);
        const resources = await listableResources(send);
        expect(resources.map((each) => each.kind)).toContain(kind);
      });

      it("plans by a dry run, creates, sees no difference, changes, meets a conflict and deletes", async () => {
        await expectStatus(404, send("GET", path));
        expect(valueAt(await expectStatus(201, apply("one", "&dryRun=All")))).toBe("one");
        await expectStatus(404, send("GET", path));
        const created = await expectStatus(201, apply("one"));
        expect(created.metadata.uid).toBeTruthy();
        const planned = await expectStatus(200, apply("one", "&dryRun=All"));
        const read = await expectStatus(200, send("GET", path));
        expect(planned.metadata.resourceVersion).toBe(read.metadata.resourceVersion);
        expect(valueAt(await expectStatus(200, apply("two", "&dryRun=All")))).toBe("two");
        expect(valueAt(await expectStatus(200, send("GET", path)))).toBe("one");
        expect(valueAt(await expectStatus(200, apply("two")))).toBe("two");

        await expectStatus(
          200,
          send("PATCH", `${path}?fieldManager=somebody`, { type: MERGE, body: content("theirs") }),
        );
        const conflict = await expectStatus(409, apply("three"));
        expect(conflict).toMatchObject({
          reason: "Conflict",
          details: { causes: [{ reason: "FieldManagerConflict", field: valuePath }] },
        });
        expect(conflict.message).toContain('conflict with "somebody"');
        const forced = send("PATCH", `${path}?fieldManager=Terraform&force=true`, {
          type: APPLY,
          body: object("terraform", "three"),
        });
        expect(valueAt(await expectStatus(200, forced))).toBe("three");
        await expectStatus(200, send("DELETE", path));
        await expect.poll(async () => (await send("GET", path)).status).toBe(404);
      });
    });
  },
);
