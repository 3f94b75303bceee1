// Lines of a list of any length: the first of them, and more on demand.

import { type ReactNode, useState } from "react";
import { t } from "../texts/text.tsx";
import { Button } from "./ui.tsx";

const PAGE = 50;

/** `children` makes one `<li>` of an item. */
export function LongList<T>(props: { readonly items: readonly T[]; readonly children: (item: T) => ReactNode }) {
  const { items, children } = props;
  const [shown, setShown] = useState(PAGE);
  const left = items.length - shown;
  return (
    <>
      <ul className="lines card">{items.slice(0, shown).map(children)}</ul>
      {left > 0 && (
        <div>
          <Button onPress={() => setShown(shown + PAGE)}>
            {t("list.more", { count: Math.min(left, PAGE), all: items.length })}
          </Button>
        </div>
      )}
    </>
  );
}
