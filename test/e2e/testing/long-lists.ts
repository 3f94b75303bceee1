// Lists that a page gets from the server, with ten thousand rows: those that are there, again and again, with other names.

import type { BrowserContext, Route } from "playwright-core";

export const ROWS = 10_000;

/** Resources of the management API and of RBAC whose objects pages list. Pages have some of these names as well. */
const LISTED = new RegExp(
  `^/apis/.*/(${[
    ...["ownedaccesskeys", "virtualclusterinstances", "spaceinstances", "kubeconfiggenerators", "clusters", "projects"],
    ...["users", "teams", "clusterroles", "clusterrolebindings", "accessrequests", "accesspolicies"],
    ...["clusteraccesspolicies", "trustrules", "clustertrustrules", "identityproviders"],
  ].join("|")})$`,
);

type Listed = { readonly metadata: { readonly name: string }; readonly spec?: object };
type List = { readonly metadata: { readonly [member: string]: unknown }; readonly items?: readonly Listed[] };

/** Each list of `context`, also those of one namespace; lists of one object by its name, and watches, stay as they are. */
export async function lengthenLists(context: BrowserContext): Promise<void> {
  const lists = new Map<string, List>();
  const bodies = new Map<string, string>();
  await context.route(
    (url) => LISTED.test(url.pathname) && !url.searchParams.has("watch") && !url.searchParams.has("fieldSelector"),
    async (route) => {
      const { pathname, searchParams } = new URL(route.request().url());
      if (route.request().method() !== "GET") return route.fallback();
      const size = Number(searchParams.get("limit") ?? ROWS);
      const from = Number(searchParams.get("continue") ?? 0);
      if (from === 0) return begin(route, size, (list) => lists.set(pathname, list));
      const list = lists.get(pathname);
      if (list === undefined) throw new Error(`${pathname}: a page before this one was not asked for`);
      // It has no objects of the server, so that it stays as it is.
      const id = `${pathname} ${from} ${size}`;
      const body = bodies.get(id) ?? JSON.stringify(pageOf(list, from, size));
      bodies.set(id, body);
      await route.fulfill({ contentType: "application/json", body });
    },
  );
}

async function begin(route: Route, size: number, keep: (list: List) => void): Promise<void> {
  const response = await route.fetch();
  const list: List = await response.json();
  if (list.items?.[0] === undefined) return route.fulfill({ response });
  keep(list);
  await route.fulfill({ response, json: pageOf(list, 0, size) });
}

function pageOf(list: List, from: number, size: number): List {
  const { items = [], metadata } = list;
  const { continue: _, remainingItemCount: __, ...rest } = metadata;
  const until = Math.min(from + size, ROWS);
  return {
    ...list,
    metadata: { ...rest, ...(until < ROWS ? { continue: String(until) } : {}) },
    items: Array.from(
      { length: until - from },
      (_, at) => items[from + at] ?? copyOf(items[(from + at) % items.length], from + at),
    ),
  };
}

function copyOf(copied: Listed | undefined, at: number): Listed {
  if (copied === undefined) throw new Error("a list without objects has none to copy");
  const name = `${copied.metadata.name}-${String(at).padStart(5, "0")}`;
  return {
    ...copied,
    metadata: { ...copied.metadata, name, uid: name } as Listed["metadata"],
    spec: { ...copied.spec, displayName: `Row ${at}` },
  };
}
