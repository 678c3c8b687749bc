/*
 * Runs a command in a new pseudo-terminal, for tests: pty COLUMNS ROWS COMMAND [ARGUMENT...]
 *
 * Copies the command's output to stdout, and stdin to its input. A line on descriptor 3, "COLUMNS ROWS", resizes the window.
 * Descriptor 4 gets "pid N" at the start, "size COLUMNS ROWS" after each resize, and at the end the result ("exit N" or
 * "signal N") and whether the terminal's settings are the same as before ("restored" or "changed").
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>
#include <pty.h>

static void pass_on(int from, int to) {
  char bytes[65536];
  ssize_t got = read(from, bytes, sizeof bytes);
  for (ssize_t done = 0; done < got;) {
    ssize_t put = write(to, bytes + done, (size_t)(got - done));
    if (put < 0 && errno != EINTR && errno != EAGAIN) exit(120);
    if (put > 0) done += put;
  }
}

static int is_same(const struct termios *a, const struct termios *b) {
  return a->c_lflag == b->c_lflag && a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag;
}

int main(int count, char **arguments) {
  if (count < 4) return 121;
  struct winsize size = {.ws_col = (unsigned short)atoi(arguments[1]), .ws_row = (unsigned short)atoi(arguments[2])};
  int master, slave;
  if (openpty(&master, &slave, NULL, NULL, &size) != 0) return 122;
  struct termios before, after;
  tcgetattr(slave, &before);
  pid_t child = fork();
  if (child < 0) return 123;
  if (child == 0) {
    close(master);
    close(3);
    close(4);
    if (login_tty(slave) != 0) _exit(124);
    execvp(arguments[3], arguments + 3);
    _exit(125);
  }
  dprintf(4, "pid %d\n", (int)child);
  /* The slave stays open here, so that its settings can be read after the child has ended. */
  struct pollfd fds[3] = {{.fd = master, .events = POLLIN}, {.fd = 0, .events = POLLIN}, {.fd = 3, .events = POLLIN}};
  int status = 0;
  for (int over = 0, left = 1; !over || left;) {
    if (!over) over = waitpid(child, &status, WNOHANG) == child;
    left = poll(fds, 3, 50) > 0 && (fds[0].revents & POLLIN);
    if (left) pass_on(master, 1);
    if (fds[1].revents & POLLIN) pass_on(0, master);
    else if (fds[1].revents & POLLHUP) {
      fds[1].fd = -1;
      if (!over) kill(child, SIGKILL); /* the test has ended */
    }
    if (fds[2].revents & POLLIN) {
      char line[64] = {0};
      if (read(3, line, sizeof line - 1) <= 0) fds[2].fd = -1;
      else if (sscanf(line, "%hu %hu", &size.ws_col, &size.ws_row) == 2) {
        ioctl(master, TIOCSWINSZ, &size);
        dprintf(4, "size %hu %hu\n", size.ws_col, size.ws_row);
      }
    } else if (fds[2].revents) fds[2].fd = -1;
  }
  tcgetattr(slave, &after);
  if (WIFSIGNALED(status)) dprintf(4, "signal %d\n", WTERMSIG(status));
  else dprintf(4, "exit %d\n", WEXITSTATUS(status));
  dprintf(4, "%s\n", is_same(&before, &after) ? "restored" : "changed");
  return 0;
}
