import { createSuiteClient } from "@postern/apiserver/registry/testing/suite-client";
import { expect, it } from "vitest";
import { virtualClusterComposition } from "../../foundation/encryption/internal-records.ts";
import { type ManagementSuiteSurface, openManagementSuiteSurface } from "../../testing/management-suite-surface.ts";

const TABLE = { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" } as const;

function clientOf(surface: ManagementSuiteSurface, plural: string, namespace = "") {
  const definition = surface.definitions.find((each) => each.plural === plural);
  if (definition === undefined) throw new Error(plural);
  return createSuiteClient(surface.route, definition, namespace);
}

/** The cells of a column, by the names of the objects. */
async function cells(client: ReturnType<typeof clientOf>, column: string): Promise<Record<string, string>> {
  const { json } = await client.send("GET", "", undefined, TABLE);
  const at = json.columnDefinitions.findIndex(({ name }: { name: string }) => name === column);
  return Object.fromEntries(json.rows.map(({ cells }: { cells: string[] }) => [cells[0], cells[at]]));
}

it("shows the usage of every owner of a budget, by the object and by a metric", async () => {
  await using surface = await openManagementSuiteSurface();
  const made = async (plural: string, body: object, namespace = "") => {
    const { status, json } = await clientOf(surface, plural, namespace).send("POST", "", body as never);
    expect(status, JSON.stringify(json)).toBe(201);
    return json;
  };
  await made("users", { metadata: { name: "jane" } });
  await made("teams", { metadata: { name: "crew" } });
  await made("projects", { metadata: { name: "web" } });
  const description = "x".repeat(1 << 17);
  for (let count = 0; count < 4; count++) {
    await made("ownedaccesskeys", { metadata: { name: `u${count}` }, spec: { user: "jane", description } });
    await made("ownedaccesskeys", { metadata: { name: `t${count}a` }, spec: { team: "crew", description } });
    await made("ownedaccesskeys", { metadata: { name: `t${count}b` }, spec: { team: "crew", description } });
  }
  const instance = await made("virtualclusterinstances", { metadata: { name: "vc" }, spec: {} }, "p-web");
  const other = await made("virtualclusterinstances", { metadata: { name: "connected" }, spec: {} }, "p-web");
  expect(other.metadata.uid).not.toBe(instance.metadata.uid);
  const key = `/registry/${virtualClusterComposition(instance.metadata.uid)}/core/configmaps/default/a`;
  await surface.storage.create(key, new Uint8Array(3 << 20).fill(32));

  expect((await cells(clientOf(surface, "users"), "Keys"))["jane"]).toMatch(/^5\d\dKi\/16Mi$/);
  expect(await cells(clientOf(surface, "teams"), "Keys")).toEqual({ crew: "1Mi/16Mi" });
  expect((await cells(clientOf(surface, "projects"), "Stored"))["web"]).toMatch(/^\dKi\/64Mi$/);
  const instances = clientOf(surface, "virtualclusterinstances", "p-web");
  expect(await cells(instances, "Stored")).toEqual({ vc: "3Mi/512Mi", connected: "" });

  const shown = await surface.metrics();
  const ratio = (kind: string) =>
    Number(new RegExp(`postern_storage_fullest_ratio\\{owner_kind="${kind}"\\} (.+)`).exec(shown)?.[1]);
  expect(ratio("team")).toBeCloseTo(1 / 16, 2);
  expect(ratio("user")).toBeCloseTo(0.5 / 16, 2);
  expect(ratio("subject")).toBe(0);
  expect(ratio("virtualcluster")).toBeCloseTo(3 / 512, 4);
  expect(ratio("project")).toBeGreaterThan(0);
});
