// The rights that virtual clusters give to a user or a team by name: as their owner, and by their own rules.

import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { nameOf } from "../../api/resources.ts";
import { projectOf } from "../../settings.ts";
import { t } from "../../texts/text.tsx";
import { accessGroups } from "../clusters/access-groups.ts";

/** `name`: `shop/dev`; `role`: the access in words, with the team that it comes through. */
export type ClusterRight = { readonly to: string; readonly name: string; readonly role: string };

type Holder = { readonly kind: "User" | "Team"; readonly name: string; readonly teams: readonly string[] };

/** Rights through the project are not among them. */
export function clusterRightsOf(clusters: readonly VirtualClusterInstance[], holder: Holder): readonly ClusterRight[] {
  const { kind, name, teams } = holder;
  return clusters.flatMap((cluster) => {
    const place = `${projectOf(cluster.metadata.namespace ?? "")}/${nameOf(cluster)}`;
    return accessGroups(cluster, undefined).flatMap(({ what, holders }) => {
      const isHeld = holders.some((each) => each.isTeam === (kind === "Team") && each.name === name);
      const through = holders.filter((each) => each.isTeam && teams.includes(each.name));
      return [
        ...(isHeld ? [what] : []),
        ...through.map((team) => t("memberships.through", { role: what, team: team.name })),
      ].map((role) => ({ to: `/clusters/${place}`, name: place, role }));
    });
  });
}
