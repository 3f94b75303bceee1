// All teams that the user can see.

import type { Team } from "@postern/api/team";
import { nameOf, TEAMS, titleOf } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { NewObjectLink } from "../../components/forms/new-object-link.tsx";
import type { Column } from "../../components/tables/data-table.tsx";
import { ListPage } from "../../components/tables/list-page.tsx";
import { createdColumn, ownerColumn, titleColumn } from "../../components/tables/object-columns.tsx";
import { useListSearch } from "../../components/tables/use-list-search.tsx";
import { counted, t } from "../../texts/text.tsx";

const NAMED = 3;

/** The first of them, and how many more there are. */
const membersText = (users: readonly string[]): string => {
  const more = users.length - NAMED;
  if (users.length === 0) return "–";
  return more > 0 ? counted("change.more", more, { names: users.slice(0, NAMED).join(", ") }) : users.join(", ");
};

const COLUMNS: readonly Column<Team>[] = [
  titleColumn((team) => `/teams/${nameOf(team)}`),
  {
    id: "users",
    header: t("field.members"),
    sortBy: ({ spec }) => spec?.users?.length ?? 0,
    text: ({ spec }) => membersText(spec?.users ?? []),
    cell: ({ spec }) => membersText(spec?.users ?? []),
  },
  {
    id: "groups",
    header: t("teams.column.groups"),
    from: "medium",
    isOptional: true,
    sortBy: ({ spec }) => spec?.groups?.join(", ") ?? "",
    cell: ({ spec }) => spec?.groups?.join(", ") ?? "",
  },
  ownerColumn("wide"),
  createdColumn(),
];

const searchedIn = (team: Team): string => `${titleOf(team)} ${nameOf(team)} ${team.spec?.users?.join(" ") ?? ""}`;

export function TeamsPage() {
  const list = useLive<Team>(TEAMS);
  const { shown, field } = useListSearch(list.items, t("teams.search"), searchedIn);
  return (
    <ListPage
      title={t("teams.title")}
      lead={t("teams.lead")}
      actions={<NewObjectLink to="/new/team" resource="teams" label={t("team.new")} />}
      list={list}
      columns={COLUMNS}
      rows={shown}
      count={counted("teams.count", shown.length)}
      filters={field}
      empty={<EmptyState title={t("teams.empty.title")}>{t("teams.empty.text")}</EmptyState>}
    />
  );
}
