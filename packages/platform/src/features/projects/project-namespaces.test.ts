// Two servers make the namespace of a project: with the request that creates it, and by the controller that sees the project.

import type { Project } from "@postern/api/project";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { expect, it } from "vitest";
import { createTenancy } from "../../server/testing/tenancy.ts";
import { createProjectNamespaces } from "./project-namespaces.ts";

it("finds a namespace in the store that memory does not show yet", async () => {
  await using tenancy = await createTenancy();
  const { metadata } = await tenancy.create("projects", { metadata: { name: "web" } });
  await tenancy.settled();
  const { definition, keys, genericStore, fieldManager, view: current } = tenancy.resource("Namespace", "");
  const view = Object.assign(Object.create(current), { get: () => undefined });
  const namespaces = { definition, keys, genericStore, fieldManager, view };
  const { create, find } = createProjectNamespaces({ runtime: systemRuntime }, { names: tenancy.names, namespaces });
  const project = (uid: string | undefined) => ({ metadata: { ...metadata, uid } }) as Project;
  const { signal } = new AbortController();
  expect(find(project(metadata.uid))).toBeUndefined();
  expect(await create(project(metadata.uid), signal)).toBe("ready");
  expect(await create(project("of an earlier one"), signal)).toBe("taken");
});
