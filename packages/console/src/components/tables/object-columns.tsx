// Columns that most tables of objects have.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { Link } from "@tanstack/react-router";
import { nameOf, ownerName, type Titled, titleOf } from "../../api/resources.ts";
import { projectOf } from "../../settings.ts";
import { t } from "../../texts/text.tsx";
import { Time } from "../time.tsx";
import type { Column } from "./data-table.tsx";
import { TitleCell } from "./title-cell.tsx";

/** Room for a relative time, such as "45 minutes ago". */
export const TIME_WIDTH = "132px";

/** `to`: the address of the object's page. */
export const titleColumn = <T extends Titled>(to: (object: T) => string): Column<T> => ({
  id: "name",
  header: t("field.name"),
  sortBy: (object) => titleOf(object).toLowerCase(),
  text: titleOf,
  cell: (object) => <TitleCell to={to(object)} title={titleOf(object)} name={nameOf(object)} />,
});

export const projectNameOf = ({ metadata }: Pick<KubeObject, "metadata">): string =>
  projectOf(metadata.namespace ?? "");

/** Titles after the project: objects of several projects can have the same one. `list`: the address of the list. */
export const titleInProjectColumn = <T extends Titled>(list: "/clusters" | "/kubeconfig-generators"): Column<T> => ({
  id: "name",
  header: t("field.name"),
  sortBy: (object) => `${projectNameOf(object)} / ${titleOf(object).toLowerCase()}`,
  text: (object) => `${projectNameOf(object)} / ${titleOf(object)}`,
  cell: (object) => (
    <Link
      to={`${list}/$project/$name`}
      params={{ project: projectNameOf(object), name: nameOf(object) }}
      className="row-link"
      title={`${projectNameOf(object)} / ${titleOf(object)}`}
    >
      <span className="muted">{projectNameOf(object)}</span>
      {` / ${titleOf(object)}`}
    </Link>
  ),
});

export const ownerColumn = <T extends Owned>(from: "medium" | "wide"): Column<T> => ({
  id: "owner",
  header: t("field.owner"),
  from,
  isOptional: true,
  sortBy: ({ spec }) => ownerName(spec?.owner),
  cell: ({ spec }) => ownerName(spec?.owner),
});

type Owned = { readonly spec?: { readonly owner?: Parameters<typeof ownerName>[0] } };

export const createdColumn = <T extends Pick<KubeObject, "metadata">>(header = t("field.created")): Column<T> => ({
  id: "created",
  header,
  width: TIME_WIDTH,
  from: "wide",
  sortBy: ({ metadata }) => metadata.creationTimestamp ?? "",
  cell: ({ metadata }) => <Time at={metadata.creationTimestamp} otherwise="" />,
});
