// Fate of a watch whose client does not read, or loses its rights, and the kind of objects it is notified of.

import { expect, test } from "vitest";
import { GROUP, KEYS, key, MERGE_PATCH, parseEvents, useServer, WIDGETS, widget } from "./testing/api.ts";
import { connectRaw, rawRequest } from "./testing/raw-connection.ts";

const api = useServer();
const RBAC = "/apis/rbac.authorization.k8s.io/v1";

test("sends objects in the kind and version of the path (W-16)", async () => {
  const configMaps = "/api/v1/namespaces/default/configmaps";
  await api.post(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "w16" } });
  await api.post(WIDGETS, widget("w16"));
  for (const [path, apiVersion, kind] of [
    [configMaps, "v1", "ConfigMap"],
    [WIDGETS, `${GROUP}/v1`, "Widget"],
  ] as const) {
    const watch = await api.watch(`${path}?watch=true&allowWatchBookmarks=true&fieldSelector=metadata.name%3Dw16`);
    const [added, bookmark] = parseEvents(await watch.lines(2));
    expect([added.type, bookmark.type]).toEqual(["ADDED", "BOOKMARK"]);
    expect(added.object).toMatchObject({ apiVersion, kind });
    expect(bookmark.object).toMatchObject({ apiVersion, kind });
    watch.close();
  }
});

test("ends watches that are not read, and keeps the others (W-17)", async () => {
  await api.post(WIDGETS, widget("w17", { size: 1, free: {} }));
  const path = `${WIDGETS}?watch=true&fieldSelector=metadata.name%3Dw17`;
  using slow = await connectRaw(api.server);
  slow.write(rawRequest("GET", path).replace("\r\n", "\r\nConnection: close\r\n"));
  await slow.received('"ADDED"');
  slow.socket.pause();
  const reader = await api.watch(`${path}-end`);
  // More than a server holds for one client, and the operating systems on the way.
  const text = "x".repeat(900_000);
  const count = 40;
  for (let n = 0; n < count; n++) {
    await api.patch(`${WIDGETS}/w17`, MERGE_PATCH, { spec: { free: { text, n } } });
  }
  await api.post(WIDGETS, widget("w17-end"));
  expect(parseEvents(await reader.lines(1))[0].object.metadata.name).toBe("w17-end");
  reader.close();
  slow.socket.resume();
  // Without a time limit of its own the watch would go on: it is over, and not all was told.
  expect(await slow.ended).not.toContain(`"n":${count - 1}`);
});

test("ends a watch whose right was taken away, and begins no other (W-18)", async () => {
  const name = "w18";
  const meta = { metadata: { name } };
  await api.post(`${RBAC}/clusterroles`, {
    ...meta,
    rules: [{ apiGroups: [GROUP], resources: ["ownedaccesskeys"], verbs: ["watch"] }],
  });
  await api.post(`${RBAC}/clusterrolebindings`, {
    ...meta,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "alice" }],
  });
  const path = `${KEYS}?watch=true&labelSelector=case%3Dw18`;
  const watch = await api.watch(path, { as: "alice" });
  expect(watch.status).toBe(200);
  await api.delete(`${RBAC}/clusterrolebindings/${name}`);
  expect((await api.get(path, { as: "alice" })).status).toBe(403);
  await api.post(KEYS, key(name, {}, { labels: { case: name } }));
  // Over, and nothing after it was delivered.
  expect(parseEvents(await watch.lines(1))).toEqual([]);
  watch.close();
});
