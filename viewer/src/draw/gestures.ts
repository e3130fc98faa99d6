// Pointer and wheel over a drawing: a drag, a click, and turns of the wheel, in pixels from the drawing's corner.
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

export interface At {
  x: number;
  y: number;
}

export interface Drag {
  from: At;
  to: At;
  path: At[];
  pan: boolean; // with the middle button or Shift: what is in view moves along
}

interface Gestures {
  drag: (drag: Drag, done: boolean) => void;
  cancel: () => void; // a drag that was given up
  click: (at: At, more: boolean) => void; // more: with Ctrl, to add to what is selected
  double: (at: At) => void;
  wheel: (at: At, turn: At, event: WheelEvent) => void; // turn in steps of a wheel
  hover: (at: At | null, event: PointerEvent) => void;
}

const CLICK = 4; // pixels that a hand moves in a click

export function useGestures(ref: RefObject<HTMLElement | null>, gestures: Gestures) {
  const now = useRef(gestures);
  now.current = gestures;
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    let drag: (Drag & { moved: boolean }) | null = null;
    const at = (e: MouseEvent): At => {
      const box = element.getBoundingClientRect();
      return { x: e.clientX - box.left, y: e.clientY - box.top };
    };
    const down = (e: PointerEvent) => {
      if (e.button > 1) return;
      e.preventDefault();
      element.focus({ preventScroll: true });
      element.setPointerCapture(e.pointerId);
      drag = { from: at(e), to: at(e), path: [at(e)], pan: e.button === 1 || e.shiftKey, moved: false };
    };
    const move = (e: PointerEvent) => {
      if (!drag) { now.current.hover(at(e), e); return; }
      drag.to = at(e);
      drag.moved ||= Math.hypot(drag.to.x - drag.from.x, drag.to.y - drag.from.y) > CLICK;
      if (!drag.moved) return;
      drag.path.push(drag.to);
      now.current.drag(drag, false);
    };
    const up = (e: PointerEvent) => {
      const ended = drag;
      drag = null;
      if (!ended) return;
      if (ended.moved) now.current.drag(ended, true);
      else if (e.button === 0) now.current.click(ended.from, e.ctrlKey || e.metaKey || e.shiftKey);
    };
    const cancel = () => {
      if (drag?.moved) now.current.cancel();
      drag = null;
    };
    const leave = (e: PointerEvent) => now.current.hover(null, e);
    const double = (e: MouseEvent) => now.current.double(at(e));
    const wheel = (e: WheelEvent) => {
      e.preventDefault();
      const step = e.deltaMode === WheelEvent.DOM_DELTA_LINE ? 3 : 100;
      const turn = (v: number) => Math.max(-3, Math.min(3, v / step));
      now.current.wheel(at(e), { x: turn(e.deltaX), y: turn(e.deltaY) }, e);
    };
    element.addEventListener('pointerdown', down);
    element.addEventListener('pointermove', move);
    element.addEventListener('pointerup', up);
    element.addEventListener('pointercancel', cancel);
    element.addEventListener('pointerleave', leave);
    element.addEventListener('dblclick', double);
    element.addEventListener('wheel', wheel, { passive: false });
    return () => {
      element.removeEventListener('pointerdown', down);
      element.removeEventListener('pointermove', move);
      element.removeEventListener('pointerup', up);
      element.removeEventListener('pointercancel', cancel);
      element.removeEventListener('pointerleave', leave);
      element.removeEventListener('dblclick', double);
      element.removeEventListener('wheel', wheel);
    };
  }, []);
}
