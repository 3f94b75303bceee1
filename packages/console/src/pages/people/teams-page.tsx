// All teams that the user can see.

import type { Team } from "@postern/api/team";
import { nameOf, ownerName, TEAMS, titleOf } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { createdColumn } from "../../components/created-column.tsx";
import type { Column } from "../../components/data-table.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { LiveTable } from "../../components/live-table.tsx";
import { NewObjectLink } from "../../components/new-object-link.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { TitleCell } from "../../components/title-cell.tsx";
import { useListSearch } from "../../components/use-list-search.tsx";
import { counted, t } from "../../texts/text.tsx";

const NAMED = 3;

/** The first of them, and how many more there are. */
const membersText = (users: readonly string[]): string => {
  const more = users.length - NAMED;
  if (users.length === 0) return "–";
  return more > 0 ? counted("change.more", more, { names: users.slice(0, NAMED).join(", ") }) : users.join(", ");
};

const COLUMNS: readonly Column<Team>[] = [
  {
    id: "name",
    header: t("field.name"),
    sortBy: (team) => titleOf(team).toLowerCase(),
    text: titleOf,
    cell: (team) => <TitleCell to={`/teams/${nameOf(team)}`} title={titleOf(team)} name={nameOf(team)} />,
  },
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
  {
    id: "owner",
    header: t("field.owner"),
    from: "wide",
    isOptional: true,
    sortBy: ({ spec }) => ownerName(spec?.owner),
    cell: ({ spec }) => ownerName(spec?.owner),
  },
  createdColumn(t("field.created"), (object) => object),
];

const searchedIn = (team: Team): string => `${titleOf(team)} ${nameOf(team)} ${team.spec?.users?.join(" ") ?? ""}`;

export function TeamsPage() {
  const list = useLive<Team>(TEAMS);
  const { shown, field } = useListSearch(list.items, t("teams.search"), searchedIn);
  return (
    <>
      <PageHead
        title={t("teams.title")}
        lead={t("teams.lead")}
        actions={<NewObjectLink to="/new/team" resource="teams" label={t("team.new")} />}
      />
      <LiveTable
        list={list}
        label={t("teams.title")}
        columns={COLUMNS}
        rows={shown}
        count={counted("teams.count", shown.length)}
        filters={field}
        rowKey={(team) => team.metadata.uid ?? nameOf(team)}
        sort={{ column: "name", isDescending: false }}
        empty={<EmptyState title={t("teams.empty.title")}>{t("teams.empty.text")}</EmptyState>}
      />
    </>
  );
}
