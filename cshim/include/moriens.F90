! moriens.F90: tell moriens what a Fortran program is doing. Compile this file with the program.
!
!   use moriens
!   call moriens_begin('solve')          a phase of the calling thread begins; phases nest
!   call moriens_event('residual', n)    something happened, with an integer of 4 or 8 bytes
!   call moriens_end('solve')            the innermost phase of that name ends
!
! Trailing blanks of a name do not count. In a program that runs without moriens they do nothing, at the cost of a call and
! a branch. There is nothing to link; before version 2.34 of the GNU C library a program may need -ldl.
! moriens.h is the same for C and C++; docs/annotations.md says what comes of it.
module moriens
  use, intrinsic :: iso_c_binding, only: c_char, c_funptr, c_int, c_long, c_null_char, c_null_ptr, c_ptr, c_size_t, &
    c_associated, c_f_procpointer
  use, intrinsic :: iso_fortran_env, only: int32, int64
  implicit none
  private
  public :: moriens_begin, moriens_end, moriens_event

  interface moriens_event
    module procedure event_int32, event_int64
  end interface

  abstract interface
    subroutine annotate(what, site, name, bytes, value) bind(c)
      import :: c_char, c_int, c_long, c_ptr, c_size_t
      integer(c_int), value :: what
      type(c_ptr), value :: site
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t), value :: bytes
      integer(c_long), value :: value
    end subroutine
  end interface

  interface
    function dlsym(handle, symbol) bind(c, name='dlsym')
      import :: c_char, c_funptr, c_ptr
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: symbol(*)
      type(c_funptr) :: dlsym
    end function
  end interface

  integer(c_int), parameter :: says_begin = int(z'ff01', c_int), says_end = int(z'ff02', c_int), says_event = int(z'ff03', c_int)

  ! What libmoriens.so brings, once it was looked for. Threads that look at the same time find the same.
  procedure(annotate), pointer, save :: hook => null()
  logical, volatile, save :: looked = .false.

contains

  subroutine moriens_begin(name)
    character(len=*), intent(in) :: name
    call say(says_begin, name, 0_int64)
  end subroutine

  subroutine moriens_end(name)
    character(len=*), intent(in) :: name
    call say(says_end, name, 0_int64)
  end subroutine

  subroutine event_int32(name, value)
    character(len=*), intent(in) :: name
    integer(int32), intent(in) :: value
    call say(says_event, name, int(value, int64))
  end subroutine

  subroutine event_int64(name, value)
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: value
    call say(says_event, name, value)
  end subroutine

  subroutine say(what, name, value)
    integer(c_int), intent(in) :: what
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: value
    if (.not. looked) call look
    if (associated(hook)) call hook(what, c_null_ptr, name, len_trim(name, kind=c_size_t), int(value, c_long))
  end subroutine

  subroutine look
    procedure(annotate), pointer :: found
    type(c_funptr) :: symbol
    symbol = dlsym(c_null_ptr, 'moriens_annotate_1' // c_null_char)
    if (c_associated(symbol)) then
      call c_f_procpointer(symbol, found)
      hook => found
    end if
    looked = .true.
  end subroutine

end module
