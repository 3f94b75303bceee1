// The requests that Argo CD and Flux send, one after the other and with their headers, to the management API and to an embedded virtual
// cluster: each answer is what the client goes on with.
// Sources: argoproj/gitops-engine/pkg/{cache,diff,sync}, fluxcd/pkg/ssa

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

describe.each(REPLAY_TARGETS)("in $where", ({ base, collection, kind, content, valueAt, object }) => {
  describe("Argo CD", () => {
    const send = sendTo(base, "argocd-application-controller/v2.14.0");

    it("reads what cluster it is, and lists and watches every resource from the version of its list", async () => {
      expect(await expectStatus(200, send("GET", "/version?timeout=32s"))).toMatchObject({ major: "1", minor: "36" });
      await expectStatus(200, send("GET", "/openapi/v2?timeout=32s", { accept: OPENAPI_V2 }));
      const resources = (await listableResources(send)).filter(({ verbs }) => verbs.includes("watch"));
      expect(resources.length).toBeGreaterThan(8);
      const versions = await Promise.all(
        resources.map(async ({ path, kind: listed }) => {
          const list = await expectStatus(200, send("GET", `${path}?limit=500`));
          expect(list.kind).toMatch(/List$/);
          expect(
            list.items.every((item: any) => item.metadata.uid !== undefined),
            listed,
          ).toBe(true);
          return list.metadata.resourceVersion;
        }),
      );
      await expectStatus(201, send("POST", collection, { body: object("argo-watched", "one") }));
      await expectStatus(200, send("DELETE", `${collection}/argo-watched`));
      const plural = collection.slice(collection.lastIndexOf("/") + 1);
      const seen = await Promise.all(
        resources.map(async ({ path }, index) => {
          const query = `allowWatchBookmarks=true&resourceVersion=${versions[index]}&timeoutSeconds=1&watch=true`;
          const { status, text } = await send("GET", `${path}?${query}`);
          expect(status, text).toBe(200);
          const events = text
            .trim()
            .split("\n")
            .filter(Boolean)
            .map((line) => JSON.parse(line));
          expect(events.filter(({ type }) => type === "ERROR")).toEqual([]);
          return path.endsWith(`/${plural}`)
            ? events.filter((event) => event.object.metadata.name === "argo-watched").map(({ type }) => type)
            : [];
        }),
      );
      expect(seen.flat()).toEqual(["ADDED", "DELETED"]);
    });

    it("lists in pages that are all of one state", async () => {
      const names = Array.from({ length: 7 }, (_, index) => `argo-page-${index}`);
      for (const name of names) {
        await expectStatus(201, send("POST", collection, { body: object(name, "one", { labels: { pages: "yes" } }) }));
      }
      const found: string[] = [];
      const versions = new Set<string>();
      let token = "";
      do {
        const page = await expectStatus(
          200,
          send(
            "GET",
            `${collection}?labelSelector=pages%3Dyes&limit=3${token === "" ? "" : `&continue=${encodeURIComponent(token)}`}`,
          ),
        );
        found.push(...page.items.map(({ metadata }: any) => metadata.name));
        versions.add(page.metadata.resourceVersion);
        token = page.metadata.continue ?? "";
        // Objects created meanwhile are in none of the pages.
        if (found.length === 3) {
          await expectStatus(
            201,
            send("POST", collection, { body: object("argo-page-9", "one", { labels: { pages: "yes" } }) }),
          );
        }
      } while (token !== "");
      expect(found).toEqual(names);
      expect(versions.size).toBe(1);
      await expectStatus(200, send("DELETE", `${collection}?labelSelector=pages%3Dyes`));
      const left = await expectStatus(200, send("GET", `${collection}?labelSelector=pages%3Dyes`));
      expect(left.items).toEqual([]);
    });

    it("diffs on the server, syncs, heals itself and prunes", async () => {
      const tracked = { annotations: { "argocd.argoproj.io/tracking-id": `shop:${kind}:argo` } };
      const path = `${collection}/argo`;
      const apply = (value: string, query = "") =>
        send("PATCH", `${path}?fieldManager=argocd-controller&force=true${query}`, {
          type: APPLY,
          body: object("argo", value, tracked),
        });
      expect(valueAt(await expectStatus(201, apply("one", "&dryRun=All")))).toBe("one");
      await expectStatus(201, apply("one"));
      await expectStatus(
        200,
        send("PATCH", `${path}?fieldManager=kubectl-edit`, { type: MERGE, body: content("drifted") }),
      );
      const live = await expectStatus(200, send("GET", path));
      const predicted = await expectStatus(200, apply("one", "&dryRun=All"));
      expect([valueAt(live), valueAt(predicted)]).toEqual(["drifted", "one"]);
      // The prediction takes the field over; it has no managers but the two of the live object.
      const managers = ({ metadata }: any) => metadata.managedFields.map(({ manager }: any) => manager).toSorted();
      expect(managers(live)).toEqual(["argocd-controller", "kubectl-edit"]);
      expect(managers(predicted)).toEqual(["argocd-controller"]);
      await expectStatus(200, apply("one"));
      const healed = await expectStatus(200, send("GET", path));
      expect([valueAt(healed), healed.metadata.annotations]).toEqual(["one", tracked.annotations]);
      await expectStatus(200, send("DELETE", path, { body: { propagationPolicy: "Foreground" } }));
      await expect.poll(async () => (await send("GET", path)).status).toBe(404);
    });
  });

  it("Flux applies by dry run first, and collects what left the inventory", async () => {
    const send = sendTo(base, "kustomize-controller/v1.4.0");
    const labels = {
      "kustomize.toolkit.fluxcd.io/name": "shop",
      "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
    };
    const path = `${collection}/flux`;
    const apply = (value: string, query: string) =>
      send("PATCH", `${path}?fieldManager=kustomize-controller&force=true${query}`, {
        type: APPLY,
        body: object("flux", value, { labels }),
      });
    await expectStatus(201, apply("one", "&dryRun=All"));
    const created = await expectStatus(201, apply("one", ""));
    // Unchanged by the dry run: Flux does not apply at all.
    const again = await expectStatus(200, apply("one", "&dryRun=All"));
    expect(again.metadata).toEqual(created.metadata);
    const { uid } = created.metadata;
    await expectStatus(409, send("DELETE", path, { body: { preconditions: { uid: "another" } } }));
    await expectStatus(
      200,
      send("DELETE", path, { body: { propagationPolicy: "Background", preconditions: { uid } } }),
    );
    await expectStatus(404, send("GET", path));
  });
});
