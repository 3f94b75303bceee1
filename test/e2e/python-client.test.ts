// The Python client of Kubernetes against the server: discovery, objects, patches, apply and watches.

import { access } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { REPOSITORY, startPostern, succeed, temporaryDirectory, tool } from "./testing/postern-process.ts";

/** Debian's own: the package python3-kubernetes installs for this one. */
const PYTHON = "/usr/bin/python3";
const SCRIPT = join(REPOSITORY, "test/e2e/testing/python-client.py");

const missing = await access(PYTHON)
  .then(() => tool(PYTHON, ["-c", "import kubernetes"]))
  .then(({ code }) => (code === 0 ? "" : " (skipped: python3-kubernetes is not installed)"))
  .catch(() => ` (skipped: there is no ${PYTHON})`);

it.skipIf(missing !== "")(`M-05 the Python client finds everything as in Kubernetes${missing}`, async () => {
  await using directory = await temporaryDirectory();
  await using server = await startPostern(join(directory.path, "data"));
  const seen = JSON.parse(await succeed(tool(PYTHON, [SCRIPT, server.adminKubeConfig])));
  expect(seen).toEqual({
    discovered: {
      plural: "ownedaccesskeys",
      namespaced: [false, true],
      verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
      subresources: expect.arrayContaining(["accesskey", "kubeconfig", "status"]),
      version: expect.stringMatching(/^v1\.32/),
    },
    created: ["python", "one", true],
    exists: [409, "AlreadyExists"],
    read: ["one", null],
    merged: "two",
    patched: "three",
    stale: [409, "Conflict"],
    applied: [200, "four"],
    conflict: [409, "Conflict"],
    listed: ["python"],
    watched: [
      ["ADDED", "watched"],
      ["MODIFIED", "watched"],
      ["DELETED", "watched"],
    ],
    custom: "python",
    namespaces: ["default", "p-default"],
    streamed: ["ADDED", "V1Namespace"],
    roles: true,
    allowed: true,
    exact: true,
    deleted: ["Success", "python"],
    gone: [404, "NotFound"],
  });
  expect(await server.stop()).toBe(0);
});
