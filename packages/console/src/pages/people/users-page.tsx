// All users that the signed-in user can see: people and bots.

import type { User } from "@postern/api/user";
import { useMemo } from "react";
import { nameOf, titleOf, USERS } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { Badge } from "../../components/badge.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { SelectField } from "../../components/forms/fields.tsx";
import { NewObjectLink } from "../../components/forms/new-object-link.tsx";
import type { Column } from "../../components/tables/data-table.tsx";
import { ListPage } from "../../components/tables/list-page.tsx";
import { createdColumn, titleColumn } from "../../components/tables/object-columns.tsx";
import { useListSearch } from "../../components/tables/use-list-search.tsx";
import { useAddress } from "../../components/use-address.ts";
import { counted, named, t } from "../../texts/text.tsx";
import { filterUsers, teamsIn, USER_STATES } from "./user-filter.ts";

export function UserBadge({ user }: { readonly user: User }) {
  if (user.spec?.disabled === true) return <Badge tone="bad">{t("user.locked")}</Badge>;
  if (user.spec?.kind === "Bot") return <Badge tone="info">{t("user.bot")}</Badge>;
  return <Badge tone="good">{t("user.active")}</Badge>;
}

const COLUMNS: readonly Column<User>[] = [
  titleColumn((user) => `/users/${nameOf(user)}`),
  {
    id: "state",
    header: t("field.state"),
    width: "110px",
    sortBy: ({ spec }) => `${spec?.disabled === true} ${spec?.kind ?? "Person"}`,
    cell: (user) => <UserBadge user={user} />,
  },
  {
    id: "email",
    header: t("field.email"),
    from: "medium",
    least: 180,
    isOptional: true,
    sortBy: ({ spec }) => spec?.email ?? "",
    cell: ({ spec }) => spec?.email ?? "",
  },
  {
    id: "teams",
    header: t("field.teams"),
    from: "wide",
    isOptional: true,
    sortBy: ({ status }) => status?.teams?.join(", ") ?? "",
    cell: ({ status }) => status?.teams?.join(", ") ?? "",
  },
  createdColumn(),
];

const searchedIn = (user: User): string => `${titleOf(user)} ${nameOf(user)} ${user.spec?.email ?? ""}`;

export function UsersPage() {
  const list = useLive<User>(USERS);
  const { items } = list;
  const { search, change } = useAddress();
  const { state = "", team = "" } = search;
  const chosen = useMemo(() => filterUsers(items, { state, team }), [items, state, team]);
  const teams = useMemo(() => teamsIn(items), [items]);
  const { shown, field } = useListSearch(chosen, t("users.search"), searchedIn);
  return (
    <ListPage
      title={t("users.title")}
      lead={t("users.lead")}
      actions={<NewObjectLink to="/new/user" resource="users" label={t("user.new")} />}
      list={list}
      columns={COLUMNS}
      rows={shown}
      empty={<EmptyState title={t("users.empty.title")}>{t("users.empty.text")}</EmptyState>}
      count={counted("users.count", shown.length)}
      filters={
        <>
          {field}
          <SelectField
            label={t("field.state")}
            isCompact
            value={state}
            choices={USER_STATES.map((id) => ({ id: id as string, label: named("users.state", id || "all") }))}
            onChange={(id) => change({ state: id })}
          />
          {teams.length > 0 && (
            <SelectField
              label={t("users.filter.team")}
              isCompact
              value={team}
              choices={[{ id: "", label: t("users.team.all") }, ...teams.map((id) => ({ id, label: id }))]}
              onChange={(id) => change({ team: id })}
            />
          )}
        </>
      }
    />
  );
}
