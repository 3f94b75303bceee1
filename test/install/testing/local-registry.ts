// An npm registry on this machine with a few packages, so that `npm install` of a tarball needs no other.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";

export type LocalRegistry = AsyncDisposable & { readonly url: string };

/** Serves the packages in the folders, packed into `work`. */
export async function startLocalRegistry(folders: readonly string[], work: string): Promise<LocalRegistry> {
  const tarballs = packFolders(folders, work);
  const manifests = folders.map((folder) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8")));
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://registry").pathname);
    const tarball = tarballs.find((file) => path === `/-/${basename(file)}`);
    const index = manifests.findIndex(({ name }) => path === `/${name}`);
    if (tarball !== undefined) return void response.end(readFileSync(tarball));
    const packed = tarballs[index];
    if (packed === undefined) return void response.writeHead(404).end("{}");
    const { name, version, ...manifest } = manifests[index];
    const integrity = `sha512-${createHash("sha512").update(readFileSync(packed)).digest("base64")}`;
    const dist = { tarball: `${address()}/-/${basename(packed)}`, integrity };
    const versions = { [version]: { ...manifest, name, version, dist } };
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ name, "dist-tags": { latest: version }, versions }));
  });
  const address = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: address(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The tarballs, in the order of the folders. One npm for all, which takes as long to start as to pack. */
function packFolders(folders: readonly string[], destination: string): readonly string[] {
  mkdirSync(destination, { recursive: true });
  const args = ["pack", "--silent", "--ignore-scripts", "--pack-destination", destination, ...folders];
  const names = execFileSync("npm", args, { encoding: "utf8" }).trim().split("\n");
  return names.map((name) => join(destination, name));
}

/** The folders of packages in `modules` and of everything that they depend on. */
export function foldersWithDependencies(names: readonly string[], modules: string): readonly string[] {
  const found = new Set(names);
  for (const name of found) {
    const { dependencies = {} } = JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8"));
    for (const dependency of Object.keys(dependencies)) found.add(dependency);
  }
  return [...found].map((name) => join(modules, name));
}
