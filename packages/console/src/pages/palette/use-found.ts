// The entries that the palette finds: pages, objects that the user can see with what can be done with them, and the documentation.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { Project } from "@postern/api/project";
import type { Team } from "@postern/api/team";
import type { User } from "@postern/api/user";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import {
  ACCESS_KEYS,
  nameOf,
  PROJECTS,
  TEAMS,
  type Titled,
  titleOf,
  USERS,
  VIRTUAL_CLUSTERS,
} from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { projectOf } from "../../settings.ts";
import { t } from "../../texts/text.tsx";
import { isTemporary, ownerOf } from "../keys/key-state.ts";
import { type Entry, findEntries, type Source, sourceOf, sourceOfEntries } from "./find-entries.ts";

/** The name, where the title is another. */
const noteOf = (object: Titled): string => (titleOf(object) === nameOf(object) ? "" : nameOf(object));

const DOCS = "/docs/";
const DOCS_INDEX = `${DOCS}pages.json`;
const NONE: readonly Entry[] = [];

/** The pages of the documentation; none until they are loaded, and where the server has none. */
function useDocumentation(): readonly Entry[] {
  const { data = NONE } = useQuery({
    queryKey: ["documentation"],
    async queryFn({ signal }): Promise<readonly Entry[]> {
      const answer = await fetch(DOCS_INDEX, { signal });
      if (!answer.ok) return NONE;
      // The route answers in this shape.
      const { pages } = (await answer.json()) as { readonly pages: readonly { path: string; title: string }[] };
      return pages.map(({ path, title }) => ({
        id: path,
        kind: "docs",
        title,
        note: path.slice(DOCS.length),
        to: path,
      }));
    },
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  return data;
}

const ACTIONS = [
  ["/new/key", "key.create"],
  ["/new/virtual-cluster", "cluster.new"],
  ["/new/project", "project.new"],
  ["/new/user", "user.new"],
  ["/new/team", "team.new"],
  ["/new/access-request", "request.new"],
] as const;

const MADE = ACTIONS.map(([to, title]): Entry => ({ id: to, kind: "action", title: t(title), note: "", to }));

const textOf = (object: Titled): string => `${titleOf(object)} ${noteOf(object)}`;

/** Objects with one entry each, which leads to their page below `list`. */
const listed = (kind: Entry["kind"], list: string, objects: readonly Titled[]): Source =>
  sourceOf(objects, textOf, [
    {
      prefix: "",
      entryOf(object) {
        const to = `${list}/${nameOf(object)}`;
        return { id: to, kind, title: titleOf(object), note: noteOf(object), to };
      },
    },
  ]);

const sourceOfUsers = (users: readonly User[]): Source => {
  const action = (open: "lock" | "revoke") => ({
    prefix: t(`palette.${open}`, { name: "" }),
    entryOf(user: User): Entry {
      const to = `/users/${nameOf(user)}`;
      const title = t(`palette.${open}`, { name: titleOf(user) });
      return { id: `${open} ${to}`, kind: "action", title, note: noteOf(user), to, search: { open } };
    },
  });
  return sourceOf(users, textOf, [
    {
      prefix: "",
      entryOf(user) {
        const to = `/users/${nameOf(user)}`;
        return { id: to, kind: "user", title: titleOf(user), note: noteOf(user), to };
      },
    },
    action("lock"),
    action("revoke"),
  ]);
};

const addressOf = (cluster: VirtualClusterInstance): string =>
  `/clusters/${projectOf(cluster.metadata.namespace ?? "")}/${nameOf(cluster)}`;
const placeOf = (cluster: VirtualClusterInstance): string =>
  `${projectOf(cluster.metadata.namespace ?? "")} / ${titleOf(cluster)}`;

const sourceOfClusters = (clusters: readonly VirtualClusterInstance[]): Source =>
  sourceOf(clusters, (cluster) => `${placeOf(cluster)} ${noteOf(cluster)}`, [
    {
      prefix: "",
      entryOf(cluster) {
        const to = addressOf(cluster);
        return { id: to, kind: "cluster", title: placeOf(cluster), note: noteOf(cluster), to };
      },
    },
    {
      prefix: t("kubeconfig.title", { name: "" }),
      entryOf(cluster) {
        const to = addressOf(cluster);
        const title = t("kubeconfig.title", { name: placeOf(cluster) });
        return { id: `kubeconfig ${to}`, kind: "action", title, note: "", to, search: { open: "kubeconfig" } };
      },
    },
  ]);

const keyNote = (key: OwnedAccessKey): string => `${noteOf(key)} ${ownerOf(key).name}`.trim();

const sourceOfKeys = (keys: readonly OwnedAccessKey[]): Source => {
  const action = (open: "disable" | "rotate") => ({
    prefix: t(`palette.${open}`, { name: "" }),
    entryOf(key: OwnedAccessKey): Entry {
      const to = `/keys/${nameOf(key)}`;
      const title = t(`palette.${open}`, { name: titleOf(key) });
      return { id: `${open} ${to}`, kind: "action", title, note: keyNote(key), to, search: { open } };
    },
  });
  return sourceOf(
    keys.filter((key) => !isTemporary(key)),
    (key) => `${titleOf(key)} ${keyNote(key)}`,
    [
      {
        prefix: "",
        entryOf(key) {
          const to = `/keys/${nameOf(key)}`;
          return { id: to, kind: "key", title: titleOf(key), note: keyNote(key), to };
        },
      },
      action("disable"),
      action("rotate"),
    ],
  );
};

/** Those that match `query`; without one, pages and what can be made. */
export function useFound(pages: readonly Entry[], query: string): readonly Entry[] {
  const keys = useLive<OwnedAccessKey>(ACCESS_KEYS).items;
  const clusters = useLive<VirtualClusterInstance>(VIRTUAL_CLUSTERS).items;
  const projects = useLive<Project>(PROJECTS).items;
  const users = useLive<User>(USERS).items;
  const teams = useLive<Team>(TEAMS).items;
  const docs = useDocumentation();
  const usual = useMemo(() => [...pages, ...MADE], [pages]);
  const sources = useMemo(
    () => [
      sourceOfEntries(usual),
      listed("project", "/projects", projects),
      sourceOfUsers(users),
      listed("team", "/teams", teams),
      sourceOfClusters(clusters),
      sourceOfKeys(keys),
      { ...sourceOfEntries(docs), isLast: true },
    ],
    [usual, keys, clusters, projects, users, teams, docs],
  );
  return useMemo(() => (query.trim() === "" ? usual : findEntries(sources, query)), [usual, sources, query]);
}
