"""A window that shows drawings; it is opened by the first of them."""

from typing import Any

from mandala_env.pictures.raster import MissingExtra, pixels


class Window:
    """One window. A copy or a pickle of it is a window that has not been opened yet."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._screen: Any = None

    def __reduce__(self) -> tuple:
        return Window, (self.title,)

    def __deepcopy__(self, memo: dict) -> "Window":
        return Window(self.title)

    @property
    def is_open(self) -> bool:
        """Has something been shown, and the window not been closed since?"""
        return self._screen is not None

    def show(self, drawing: str) -> None:
        """Show an SVG; opens the window if need be."""
        try:
            import pygame
        except ImportError:
            raise MissingExtra("a window needs pygame-ce: pip install 'mandala-env[render]'") from None
        picture = pixels(drawing).swapaxes(0, 1)
        if self._screen is None or self._screen.get_size() != picture.shape[:2]:
            pygame.display.init()
            self._screen = pygame.display.set_mode(picture.shape[:2])
            pygame.display.set_caption(self.title)
        pygame.surfarray.blit_array(self._screen, picture)
        pygame.display.flip()
        pygame.event.pump()  # or the desktop takes the window for dead

    def close(self) -> None:
        """Close the window if it is open; showing something opens it again."""
        if self._screen is None:
            return
        import pygame

        self._screen = None
        pygame.display.quit()
