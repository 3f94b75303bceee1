// The page of a kind: its head, and a table of the objects that the user can see.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ReactNode } from "react";
import { PageHead } from "../page-head.tsx";
import { LiveTable, type LiveTableProps } from "./live-table.tsx";

/** `children`: what follows the table. */
export function ListPage<T extends Pick<KubeObject, "metadata">>(
  props: Omit<LiveTableProps<T>, "label"> & {
    readonly title: string;
    readonly lead: string;
    readonly actions?: ReactNode;
    readonly children?: ReactNode;
  },
) {
  const { title, lead, actions, children, ...table } = props;
  return (
    <>
      <PageHead title={title} lead={lead} actions={actions} />
      <LiveTable label={title} {...table} />
      {children}
    </>
  );
}
