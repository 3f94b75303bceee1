// Lists of any length: the first items, and more on demand.

import { type ReactNode, useState } from "react";
import { t } from "../texts/text.tsx";
import { Button } from "./button.tsx";

const PAGE = 50;

/** The first of `items`, and a button that shows more. */
export function useFirst<T>(items: readonly T[]): { readonly first: readonly T[]; readonly more: ReactNode } {
  const [shown, setShown] = useState(PAGE);
  const left = items.length - shown;
  return {
    first: items.slice(0, shown),
    more: left > 0 && (
      <Button onPress={() => setShown(shown + PAGE)}>
        {t("list.more", { count: Math.min(left, PAGE), all: items.length })}
      </Button>
    ),
  };
}

/** `children` renders one item as `<li>`. */
export function LongList<T>(props: { readonly items: readonly T[]; readonly children: (item: T) => ReactNode }) {
  const { items, children } = props;
  const { first, more } = useFirst(items);
  return (
    <>
      <ul className="lines card">{first.map(children)}</ul>
      {more !== false && <div>{more}</div>}
    </>
  );
}
